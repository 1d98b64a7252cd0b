#include "hardware/attention_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

// Tile rows: the FA2 split kernel that paged caches take uses 64 rows (flash_fwd_launch_template.h); FA3 128 rows of packed
// heads (hopper/tile_size.h); the trtllm-gen kernels pair two tiles of 128. Splits: FA2's heuristic tries up to 128, vLLM
// caps FA3 at 32 inside CUDA graphs (flash_attn_max_num_splits_for_cuda_graph).
constexpr std::array<AttentionKernelTraits, 4> rows{{
    {"flash_attention_2", 64, false, 128, true, true},
    {"flash_attention_3", 128, true, 32, false, true},
    {"flashinfer", 128, true, 128, false, false},
    {"trtllm_gen", 256, false, 128, false, false},
}};

}  // namespace

const AttentionKernelTraits& traits(AttentionKernel kernel) { return rows[static_cast<std::size_t>(kernel)]; }

std::vector<std::string> attention_kernel_names() {
  std::vector<std::string> names;
  for (const AttentionKernelTraits& row : rows) names.emplace_back(row.name);
  return names;
}

AttentionKernel attention_kernel(std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name) return static_cast<AttentionKernel>(i);
  }
  throw InternalError("no attention kernel is called " + std::string(name));
}

AttentionKernel engine_kernel(const GpuSpec& gpu, double kv_bits) {
  if (gpu.compute_capability == 90) return AttentionKernel::flash_attention_3;
  if (gpu.compute_capability == 100 || gpu.compute_capability == 103) return AttentionKernel::trtllm_gen;
  return kv_bits < 16.0 ? AttentionKernel::flashinfer : AttentionKernel::flash_attention_2;
}

std::int64_t tile_keys(AttentionKernel kernel, std::int64_t head_dim) {
  if (kernel != AttentionKernel::flash_attention_2) return 128;
  return head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64;  // flash_fwd_launch_template.h, split-KV dispatch
}

std::int64_t decode_tile_rows(AttentionKernel kernel, std::int64_t rows) {
  return kernel == AttentionKernel::flashinfer && rows <= 16 ? 16 : 64;  // FlashInfer: FA2DetermineCtaTileQ
}

double kv_bytes_per_token(const AttentionShape& shape) {
  const std::int64_t value = shape.value_dim > 0 ? shape.value_dim : shape.head_dim;
  const bool value_in_key = shape.kv_heads == 1 && value < shape.head_dim;
  const std::int64_t elements = shape.kv_heads * (shape.head_dim + (value_in_key ? 0 : value));
  return static_cast<double>(elements) * shape.kv_bits / 8.0;
}

double flops_per_row_and_key(const AttentionShape& shape) {
  const std::int64_t value = shape.value_dim > 0 ? shape.value_dim : shape.head_dim;
  return 2.0 * static_cast<double>(shape.head_dim + value);
}

double io_bytes_per_row(const AttentionShape& shape) {
  return static_cast<double>(shape.query_heads) * flops_per_row_and_key(shape);  // 2 bytes per element of q and of the output
}

double peak_per_sm(const GpuSpec& gpu) {
  const double peak = std::max(gpu.peak(DType::bf16).count(), gpu.peak(DType::fp16).count());
  return peak / static_cast<double>(gpu.sm_count);
}

double smooth_maximum(double a, double b, double p) {
  const double larger = std::max(a, b);
  const double smaller = std::min(a, b);
  if (smaller <= 0.0) return larger;
  if (p == 1.0) return a + b;
  const double ratio = std::exp(p * std::log(smaller / larger));  // a quarter of the cost of std::pow
  return larger * std::exp(std::log(1.0 + ratio) / p);
}

}  // namespace ridgeline
