// Two resources used side by side: the smooth maximum of their times.
#pragma once

#include <cmath>

namespace ridgeline {

/// Time of work that needs one resource for `a` and another for `b` at the same time: (a + b + sqrt((a - b)^2 + 4 e^2 a b)) / 2.
///
/// `exposure` e says how badly the two overlap: 0 perfectly, the result is max(a, b); 1 not at all, it is a + b. For a = b
/// it is (1 + e) a. Scales with its arguments like a p-norm (e = 2^(1/p) - 1), at the cost of one square root.
inline double overlapped(double a, double b, double exposure) {
  const double difference = a - b;
  return 0.5 * (a + b + std::sqrt(difference * difference + 4.0 * exposure * exposure * a * b));
}

}  // namespace ridgeline
