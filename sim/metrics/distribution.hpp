// Percentiles: exact up to a stated count, then from a histogram of stated relative error.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/base/wide.hpp"

namespace ridgeline {

/// What a distribution amounts to, in milliseconds.
struct Summary {
  std::int64_t count = 0;
  double mean = 0, median = 0, std = 0, min = 0, max = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

/// A weighted sample of non-negative durations. Its figures do not depend on the order in which values were added.
///
/// Percentiles follow numpy's linear rule (rank (n-1)*p/100, engine-semantics section 11), std is the population's. Samples up
/// to `exact_samples` are kept as they are; beyond that, values fall into logarithmic buckets 2^-10 wide, so that a percentile
/// is off by at most 0.05 % of its value. Mean, std, min and max stay exact.
class Distribution {
 public:
  static constexpr std::size_t exact_samples = std::size_t{1} << 20;

  void add(Duration value, std::int64_t weight = 1);
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Sum of all values, for means and Little's law.
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_) * 1e-12; }
  /// p in [0, 100]. Sorts the kept samples on first use after an `add`. 0 when empty.
  [[nodiscard]] Duration percentile(double p) const;
  [[nodiscard]] Summary summary() const;
  [[nodiscard]] bool exact() const { return buckets_.empty(); }

 private:
  struct Entry {
    std::int64_t picoseconds;
    std::int64_t weight;
  };
  /// Sum of weighted squares in 192 bits: (2^63)^2 times 2^63 fits.
  struct Squares {
    std::uint64_t high = 0;
    UInt128 low = 0;
    void add(std::uint64_t value, std::uint64_t weight);
  };
  static std::size_t bucket_of(std::int64_t picoseconds);
  static std::int64_t middle_of(std::size_t bucket);
  void keep(std::int64_t picoseconds, std::int64_t weight);
  void to_histogram();
  [[nodiscard]] double standard_deviation() const;
  void sort() const;
  [[nodiscard]] std::int64_t value_at(std::int64_t rank) const;

  mutable std::vector<std::int64_t> single_;  // entries of weight one
  mutable std::vector<Entry> weighted_;       // the others; merged into one sorted list by sort()
  mutable std::vector<Entry> sorted_;         // with cumulative weights
  mutable bool dirty_ = false;
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0;
  Int128 sum_ = 0;
  Squares squares_;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = 0;
};

}  // namespace ridgeline
