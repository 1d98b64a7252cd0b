#include "hardware/calibration/samples.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ridgeline::harness {

Estimate estimate(std::vector<double> microseconds) {
  if (microseconds.empty()) throw std::invalid_argument("no timings");
  for (const double t : microseconds) {
    if (!std::isfinite(t) || t <= 0) throw std::invalid_argument("a timing is not a positive number");
  }
  std::sort(microseconds.begin(), microseconds.end());
  const auto quantile = [&](double p) {
    const double rank = p * static_cast<double>(microseconds.size() - 1);
    const auto lower = static_cast<std::size_t>(rank);
    const std::size_t upper = std::min(lower + 1, microseconds.size() - 1);
    return microseconds[lower] + (rank - static_cast<double>(lower)) * (microseconds[upper] - microseconds[lower]);
  };
  const double median = quantile(0.5);
  return {median, (quantile(0.75) - quantile(0.25)) / median};
}

int repeats_for(double single_us) {
  constexpr double batch_us = 1000.0;
  return static_cast<int>(std::clamp(std::ceil(batch_us / std::max(single_us, 1e-3)), 1.0, 200.0));
}

}  // namespace ridgeline::harness
