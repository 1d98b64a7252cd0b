// The roofline: an operator takes as long as its FLOPs or its bytes need, whichever is more (Williams, Waterman, Patterson 2009).
#pragma once

#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

struct RooflineParameters {
  Duration fixed;                  ///< launch of one kernel
  double compute_efficiency = 1.0; ///< of the dense peak
  double memory_efficiency = 1.0;  ///< of the datasheet bandwidth
};

/// Datasheet peaks and nothing else: the yardstick of `validate`.
inline constexpr RooflineParameters pure_roofline{};

/// For operators without a fitted model. Large matrix products reach 51 to 87 % of the peak (stas00/ml-engineering, best
/// matmul of 10 accelerators), device copies 85 to 92 % of the bandwidth, a kernel in a CUDA graph starts in 2 to 4 us.
inline constexpr RooflineParameters usual_roofline{Duration::microseconds(3), 0.75, 0.88};

/// From the work figures of `op`. Zero FLOPs and bytes cost `fixed`.
FamilyPrice price(const Op& op, const RooflineParameters& parameters, const GpuSpec& gpu);

/// The type the tensor cores multiply in; 16 bits for attention and everything that is not a matrix product.
DType math_of(const OpShape& shape);

}  // namespace ridgeline
