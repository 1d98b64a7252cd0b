// What the harness measures: plain lists of shapes, planned on the host so that they can be tested without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::harness {

/// D[m,n] = A[m,k] * W[n,k]^T.
struct GemmCase {
  std::int64_t m, n, k;
  std::string dtype;  ///< bf16 or fp8
};

/// One attention call; KV bytes are 2 * batch * kv_len * kv_heads * head_dim * 2.
struct AttentionCase {
  int query_heads, kv_heads, head_dim;
  std::int64_t batch, q_len, kv_len;
  [[nodiscard]] bool decode() const { return q_len == 1; }
};

/// An element-wise kernel over tokens x width elements of 16 bits.
struct ElementwiseCase {
  std::string op;  ///< rmsnorm+residual, silu_mul, rope, add, embedding
  std::int64_t tokens, width;
};

/// Reading, writing or copying a buffer again and again: inside the L2 when it fits, else from memory.
struct BandwidthCase {
  std::string op;  ///< read, write, copy
  std::size_t bytes;
};

/// Sizes as nccl-tests prints them.
struct CollectiveCase {
  std::string op;  ///< all_reduce, all_gather, send_recv
  std::size_t bytes;
};

struct SweepLimits {
  std::size_t memory_bytes;  ///< of the GPU; cases that need more than 60 % of it are left out
  bool has_fp8;              ///< compute capability 8.9 and later
};

/// GEMM and GEMV over layer shapes of common models under tensor parallelism, and m from 1 to 8192 with odd values among
/// them (17, 33, 129, 257, 2049) that show tile quantisation.
std::vector<GemmCase> gemm_cases(const SweepLimits& limits);
std::vector<AttentionCase> attention_cases(const SweepLimits& limits);
std::vector<ElementwiseCase> elementwise_cases();
/// Powers of two from 1 MiB to 1 GiB.
std::vector<BandwidthCase> bandwidth_cases(const SweepLimits& limits);
/// 1 KiB to 256 MiB.
std::vector<CollectiveCase> collective_cases();

}  // namespace ridgeline::harness
