// How well a mean over correlated samples is known: waits of neighbouring requests resemble each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline {

/// A 95 % confidence interval of a mean.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  /// Half its width over the mean.
  [[nodiscard]] double relative() const { return mean > 0 ? (high - low) / (2 * mean) : 0.0; }
};

/// Batch means (Law, Simulation Modeling and Analysis, section 9.5.3): the series is cut into long batches whose means are nearly
/// independent. Keeps at most 64 batches; they double in length as the series grows.
class BatchMeans {
 public:
  /// `index`: place in the series, from 0; samples may come in any order.
  void add(std::int64_t index, double value);
  /// From 8 to 16 batches; nothing below `fewest_samples`.
  [[nodiscard]] std::optional<MeanInterval> interval() const;
  static constexpr std::int64_t fewest_samples = 160;

 private:
  struct Batch {
    double sum = 0;
    std::int64_t samples = 0;
  };
  static void halve(std::vector<Batch>& batches);

  std::vector<Batch> batches_;
  std::int64_t length_ = 1;
};

}  // namespace ridgeline
