// Statistics of a stream of requests in constant memory: lengths, rates over time, gaps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/serving/request.hpp"

namespace ridgeline {

/// Counts of whole numbers, exact below 4096 and within 1/2048 above (a bucket keeps 12 leading bits).
class CountHistogram {
 public:
  void add(std::int64_t value);
  /// Value at rank (n - 1) * fraction of the sorted sample, linear between neighbours, up to the bucket's width; 0 when
  /// empty.
  [[nodiscard]] double quantile(double fraction) const;

 private:
  static std::size_t bucket(std::int64_t value);
  static double centre(std::size_t bucket);
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
};

/// Gathers requests as they are yielded.
class WorkloadStatistics {
 public:
  struct Lengths {
    double mean = 0.0, p50 = 0.0, p90 = 0.0, p99 = 0.0;
    Tokens least, most;
    Tokens total;
  };
  /// Requests per second over at most 64 equal windows of whole seconds.
  struct Rates {
    Duration window;
    double first = 0.0, least = 0.0, most = 0.0;
    /// Leading part that is at least ten times quieter than what follows (BurstGPT's first months), if any.
    std::optional<Duration> quiet_start;
    double quiet_rate = 0.0, later_rate = 0.0;
  };
  struct Summary {
    std::int64_t count = 0;
    Duration duration;       ///< from time zero to the last arrival
    double request_rate = 0; ///< count / (last - first arrival); 0 when undefined
    double gap_cv = 0;       ///< standard deviation over mean of the gaps; 0 when undefined
    Lengths input, output;
    Tokens requested_output; ///< sum of max_tokens: what clients asked for, against `output.total` produced
    Rates rates;
  };

  void add(const RequestSpec& request);
  [[nodiscard]] Summary summary() const;

 private:
  struct LengthSums {
    CountHistogram histogram;
    double sum = 0.0;
    std::int64_t least = 0, most = 0;
    void add(std::int64_t value, bool first);
    [[nodiscard]] Lengths summary(std::int64_t count) const;
  };
  void enter_window(Time arrival);
  [[nodiscard]] Rates rates() const;
  static void find_quiet_start(const std::vector<std::int64_t>& counts, Rates& rates);

  static constexpr std::size_t most_windows = 1024;
  std::int64_t count_ = 0;
  LengthSums input_, output_;
  Tokens requested_;
  Time first_, last_;
  double gap_sum_ = 0.0, gap_squares_ = 0.0;  // seconds
  Duration window_ = Duration::milliseconds(1'000);
  Time window_end_;  // of the last window
  std::vector<std::int64_t> windows_;
};

}  // namespace ridgeline
