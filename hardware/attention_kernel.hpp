// The attention kernels of serving engines, as far as their structure decides the price.
//
// A kernel cuts queries into tiles of rows and keys into tiles of `tile_keys`, gives every (sequence, head, row tile) to one
// thread block as a work item, and may split the keys of one sequence over several blocks whose results a second kernel
// combines (flash-decoding). "Packing" puts the query heads that share a KV head into the rows of one tile, so that the
// group reads its keys once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

enum class AttentionKernel : std::uint8_t {
  flash_attention_2,  ///< vllm-flash-attention's FA2 with a paged cache (Ampere, Ada, workstation Blackwell)
  flash_attention_3,  ///< Hopper: packs heads always, splits by a scheduler
  flashinfer,         ///< FlashInfer's own kernels: fp8 cache where FA2 has none
  trtllm_gen,         ///< TensorRT-LLM's kernels as FlashInfer calls them (B200)
};

struct AttentionKernelTraits {
  std::string_view name;
  std::int64_t prefill_tile_rows;
  bool packs_prefill;        ///< packs query heads in prefill too
  std::int64_t most_splits;  ///< of one sequence's keys
  /// Splits only what it has packed by transposing the queries: one row per sequence and several query heads per KV head.
  /// Everything else takes the prefill path (vllm-flash-attention csrc/flash_attn/flash_api.cpp, mha_varlen_fwd:
  /// `seqlenq_ngroups_swapped`).
  bool splits_swapped_only;
  bool mixes_in_one_call;    ///< decodes and prompts of a step share a call; otherwise the engine makes two
};

const AttentionKernelTraits& traits(AttentionKernel kernel);
std::vector<std::string> attention_kernel_names();
/// Throws InternalError for a name that is not in attention_kernel_names().
AttentionKernel attention_kernel(std::string_view name);

/// The kernel vLLM 0.24 picks for decode on `gpu` with a cache of `kv_bits`: FA3 on Hopper, TensorRT-LLM's on Blackwell servers,
/// else FA2, and FlashInfer where FA2 cannot read the cache.
AttentionKernel engine_kernel(const GpuSpec& gpu, double kv_bits);

/// Keys of one tile.
std::int64_t tile_keys(AttentionKernel kernel, std::int64_t head_dim);

/// Rows of one decode tile when a sequence has `rows` of them: query rows times the heads of a group.
std::int64_t decode_tile_rows(AttentionKernel kernel, std::int64_t rows);

/// Bytes of one token in the KV cache of this layer and rank. A value narrower than the key of a single KV head is part of
/// it (MLA's latent: 512 of 576) and is not read twice.
double kv_bytes_per_token(const AttentionShape& shape);

/// FLOPs of one query row of one head against one key: the product with K and the product with V.
double flops_per_row_and_key(const AttentionShape& shape);

/// Bytes of queries read and outputs written, per row of one sequence: 16 bits each.
double io_bytes_per_row(const AttentionShape& shape);

/// 16-bit tensor peak of one SM: bf16, or fp16 where the GPU has no bf16.
double peak_per_sm(const GpuSpec& gpu);

/// ceil for 0 <= x < 2^63: std::ceil is a library call on baseline x86-64, and prices are made of tiles.
inline double fast_ceil(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1.0 : whole;
}

/// (a^p + b^p)^(1/p) for non-negative a and b: their sum at p = 1, their maximum as p grows.
double smooth_maximum(double a, double b, double p);

}  // namespace ridgeline
