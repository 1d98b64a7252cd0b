// Memory-bound kernels: norms, rope, activations, embedding look-up, sampling.
//
//   t = fixed + ((row_latency * width)^3 + (traffic * bytes / rate)^3)^(1/3)
//
// `bytes` is the ideal traffic of the 16-bit tensors (inputs read once, outputs written once); `traffic` is what the kernel
// really moves over that at datasheet bandwidth, so 1/traffic is its bandwidth efficiency. One block of threads works on a
// row, hence `row_latency * width` for short batches. While the tensors fit in the L2 (written by the kernel before, read by
// the one after) the rate is `l2_speedup` times HBM's, falling to HBM's between `l2_full` and `l2_none` times the L2 size.
//
// Valid for 1 to 32,768 rows of 640 to 28,672 elements (sampling: up to 256k). Fitted on measured kernels; two generations
// differ so much that each is its own parameter set: the unfused kernels of 2023 (vidur's profile of Sarathi-Serve) move up
// to 7 times the ideal traffic, the fused ones of vLLM 0.19 (LLMServingSim's profile) nearly the ideal.
#pragma once

#include <array>

#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

class MapReader;

inline constexpr std::size_t elementwise_family_count = 10;

struct ElementwiseParameters {
  struct Family {
    Duration fixed;
    Duration row_latency;  ///< per 1024 elements of a row
    double traffic = 1.0;  ///< bytes moved over ideal bytes, at datasheet bandwidth
  };
  std::array<Family, elementwise_family_count> families;  ///< by ElementwiseFamily
  double l2_speedup = 1.0;  ///< L2 rate over HBM rate
  double l2_full = 0.0;     ///< working sets below this share of the L2 stay in it
  double l2_none = 1.0;     ///< above this share nothing does

  [[nodiscard]] const Family& of(ElementwiseFamily family) const { return families[static_cast<std::size_t>(family)]; }
};

std::string_view to_string(ElementwiseFamily family);

/// Ideal traffic: bytes per element times rows times width.
Bytes ideal_bytes(const ElementwiseShape& shape);

FamilyPrice price(const ElementwiseShape& shape, const ElementwiseParameters& parameters, const GpuSpec& gpu);

/// Keys: l2_speedup, l2_full, l2_none, and per family name {fixed, row_latency, traffic}.
ElementwiseParameters read_elementwise_parameters(MapReader& map);

}  // namespace ridgeline
