// Operators: the unit that models produce and hardware prices. Every figure is per GPU (one tensor-parallel rank).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/dtype.hpp"

namespace ridgeline {

/// A piece of one prompt computed in this step: `new_tokens` queries that see `history` cached tokens and themselves.
struct PrefillChunk {
  Tokens new_tokens;
  Tokens history;
  std::int64_t request = -1;  ///< workload row, for observers; prices never look at it
};

/// D[m,n] = A[m,k] * W[n,k]^T on one rank; m = tokens. FLOPs = 2mnk. m = 1..16 is what the field calls GEMV.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DType math = DType::bf16;    ///< type the tensor cores multiply in
  DType weight = DType::bf16;  ///< storage type; narrower than `math` means weight-only quantisation
  double weight_bits = 16.0;   ///< storage bits per weight, scales and zero points included (AWQ g128: 4.16)
  bool quantises_input = false;///< dynamic activation quantisation of the 16-bit [m,k] input precedes the GEMM
  bool block_scaled = false;   ///< fp8 with a scale per 128 x 128 weights and per 128 inputs (DeepSeek-V3): other kernels
};

/// Attention of one layer on one rank over a whole step: all decode sequences and all prefill chunks.
struct AttentionShape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;        ///< of K; V equal unless value_dim says otherwise
  std::int64_t value_dim = 0;       ///< of V (MLA: 512 beside 576)
  std::int64_t window = 0;          ///< sliding window in tokens, 0 = full attention
  bool causal = true;               ///< false: bidirectional encoder attention
  DType kv = DType::bf16;           ///< KV cache storage type
  double kv_bits = 16.0;            ///< storage bits per KV element, scales included
  std::int64_t decode_sequences = 0;
  Tokens decode_queries;            ///< query rows of those: one each, plus drafts being verified
  Tokens decode_context;            ///< sum over decode sequences of visible keys, newest included (clipped to window)
  std::span<const PrefillChunk> chunks;  ///< valid while the lowered step lives
  bool kv_in_l2 = false;            ///< benchmarks that replay one call: KV that fits is still in the L2. In an engine the
                                    ///< layers between two calls sweep it out
};

enum class ElementwiseFamily : std::uint8_t {
  norm, residual_norm, rope, gated_activation, activation, add, embedding, quantise, sampling, layer_norm
};

/// A memory-bound kernel over `rows` x `width` elements of 16 bits.
struct ElementwiseShape {
  ElementwiseFamily family = ElementwiseFamily::norm;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// Routed expert layer of one rank: gate+up, activation, down, weighted sum. `tokens` enter, each picks `top_k` experts.
struct MoeShape {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  ///< per expert on this rank
  std::int64_t experts = 0;       ///< held by this rank
  std::int64_t total_experts = 0;
  std::int64_t top_k = 0;
  DType math = DType::bf16;
  DType weight = DType::bf16;
  double weight_bits = 16.0;
  bool block_scaled = false;  ///< as GemmShape's
  double skew = 0.0;  ///< exponent of a power law of expert popularity; 0 = balanced
  bool gated = true;  ///< false: up and down only, without a gate projection (Nemotron 3: squared ReLU)
};

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };

/// Sizes as nccl-tests prints them (all-reduce: buffer per rank; all-gather: gathered output; send/recv: message).
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes;
  int ranks = 1;
  bool in_graph = true;  ///< launched from a CUDA graph rather than eagerly
};

using OpShape = std::variant<GemmShape, AttentionShape, ElementwiseShape, MoeShape, CollectiveShape>;

/// One operator of a step on one rank, occurring `repeats` times (identical layers). Work figures are per occurrence.
struct Op {
  std::string_view name;  ///< static text: "qkv_proj", "attention", "all_reduce_attention", …
  OpShape shape;
  std::int64_t repeats = 1;
  Flops flops;
  Bytes weight_bytes;
  Bytes kv_bytes;          ///< KV cache read and written
  Bytes activation_bytes;  ///< inputs and outputs, 16-bit unless quantised
};

}  // namespace ridgeline
