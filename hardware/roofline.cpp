#include "hardware/roofline.hpp"

#include <algorithm>

namespace ridgeline {

namespace {

/// A type the GPU has no path for runs in its 16-bit one.
FlopsPerSecond usable_peak(DType math, const GpuSpec& gpu) {
  for (const DType type : {math, DType::bf16, DType::fp16}) {
    if (gpu.supports(type)) return gpu.peak(type);
  }
  throw InternalError("GPU " + gpu.name + " has no 16-bit peak");
}

}  // namespace

DType math_of(const OpShape& shape) {
  if (const auto* gemm = std::get_if<GemmShape>(&shape)) return gemm->math;
  if (const auto* moe = std::get_if<MoeShape>(&shape)) return moe->math;
  return DType::bf16;
}

FamilyPrice price(const Op& op, const RooflineParameters& parameters, const GpuSpec& gpu) {
  const FlopsPerSecond peak = usable_peak(math_of(op.shape), gpu) * parameters.compute_efficiency;
  const BytesPerSecond bandwidth = gpu.memory_bandwidth * parameters.memory_efficiency;
  const Duration compute = op.flops / peak;
  const Duration memory = (op.weight_bytes + op.kv_bytes + op.activation_bytes) / bandwidth;
  return {parameters.fixed, compute, memory, parameters.fixed + std::max(compute, memory)};
}

}  // namespace ridgeline
