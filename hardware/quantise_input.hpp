// Dynamic activation quantisation: a 16-bit [m,k] input becomes fp8 or fp4 with its scales before the product reads it.
//
//   t = fixed + traffic * m * k * (2 + output bytes) / rate
//
// `traffic` is the bytes moved over the ideal (one scale per tensor needs two passes over the input); `rate` is HBM's
// datasheet bandwidth, or `l2_speedup` times that while the input, which the kernel before has just written, fits in half the L2.
// `fixed` is the time beyond the product's own fixed time: both are fitted to sums of the two kernels, with the
// product's fixed time taken from the 16-bit product. Valid for m 1 to 32,768 and k 128 to 65,536.
#pragma once

#include <cstdint>

#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"

namespace ridgeline {

class MapReader;

struct QuantiseInputParameters {
  Duration fixed;
  double traffic = 1.0;
  double l2_speedup = 1.0;
};

/// `rows` x `width` 16-bit elements to `to`. Throws InternalError when `to` is no narrower than 16 bits.
FamilyPrice price_quantise_input(std::int64_t rows, std::int64_t width, DType to, const QuantiseInputParameters& parameters,
                                 const GpuSpec& gpu);

/// Keys: fixed, traffic, l2_speedup.
QuantiseInputParameters read_quantise_input_parameters(MapReader& map);

}  // namespace ridgeline
