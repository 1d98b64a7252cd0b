// What a few independent runs say about the mean of a figure: Student's t interval, and its paired form for two scenarios
// that met the same requests (common random numbers).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace ridgeline {

inline constexpr double usual_confidence = 0.95;

/// A mean with its interval. One sample has no spread: its half-width is infinite.
struct Estimate {
  double mean = 0;
  double half_width = std::numeric_limits<double>::infinity();
  std::int64_t samples = 0;

  [[nodiscard]] double low() const { return mean - half_width; }
  [[nodiscard]] double high() const { return mean + half_width; }
  [[nodiscard]] bool covers(double value) const { return low() <= value && value <= high(); }
  /// Is the mean different from zero, as far as this interval can tell? The test for a difference.
  [[nodiscard]] bool significant() const { return samples > 1 && !covers(0.0); }
};

/// t(1 - (1 - confidence) / 2, n - 1) * s / sqrt(n). Samples are taken as independent: one a replication, not one a request.
/// Equal samples give a half-width of 0. Throws InternalError: no samples, or a confidence outside (0, 1).
Estimate estimate(std::span<const double> samples, double confidence = usual_confidence);

/// The mean of `b[i] - a[i]`: pair i met the same requests, so what the requests did to both cancels.
/// Throws InternalError when the sizes differ.
Estimate estimate_difference(std::span<const double> a, std::span<const double> b, double confidence = usual_confidence);

}  // namespace ridgeline
