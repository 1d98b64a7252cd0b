// Rounding of non-negative doubles in the int64 range. Inlines to a few instructions, unlike std::ceil on baseline x86-64.
#pragma once

#include <cstdint>

namespace ridgeline {

inline double floor_of(double value) { return static_cast<double>(static_cast<std::int64_t>(value)); }

inline double ceil_of(double value) {
  const double below = floor_of(value);
  return below < value ? below + 1.0 : below;
}

}  // namespace ridgeline
