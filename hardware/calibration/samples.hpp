// Repeated timings become one figure: the median, with its spread.
#pragma once

#include <vector>

namespace ridgeline::harness {

struct Estimate {
  double median_us = 0;
  double spread = 0;  ///< interquartile range over the median
};

/// Quartiles by linear interpolation. Throws std::invalid_argument for no samples, or one that is not positive and finite.
Estimate estimate(std::vector<double> microseconds);

/// Launches per timed batch so that one batch lasts about a millisecond: events resolve half a microsecond.
int repeats_for(double single_us);

}  // namespace ridgeline::harness
