// Bytes of KV cache, and how an engine with a block table arranges layers that remember differently much.
#pragma once

#include <cstdint>
#include <vector>

#include "models/precision.hpp"
#include "models/shard.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// One token in one layer on one rank: kv heads on the rank x (K + V) x bits; the latent and rope key for MLA; 0 if
/// recurrent.
Bytes kv_bytes_per_token(const ModelSpec& model, const LayerSpec& layer, const KvFormat& kv,
                         int tensor_parallel_size = 1);

/// One token in every layer of the shard, windows ignored.
Bytes kv_bytes_per_token(const ModelSpec& model, const KvFormat& kv, const Shard& shard = {});

/// The part that grows with the context for ever: full-attention layers only.
Bytes growing_kv_bytes_per_token(const ModelSpec& model, const KvFormat& kv, const Shard& shard = {});

/// Of one sequence of `tokens`, each windowed layer clipped to its window.
Bytes kv_bytes_of_sequence(const ModelSpec& model, const KvFormat& kv, Tokens tokens, const Shard& shard = {});

/// Fixed state of the recurrent layers for one sequence: matrix state and convolution tail in fp32.
Bytes recurrent_state_bytes(const ModelSpec& model, const Shard& shard = {});

/// One group of layers that share a block table (vLLM `kv_cache_utils.py`).
struct KvGroup {
  std::int64_t window = 0;      ///< tokens; 0 = full attention
  bool chunked = false;         ///< `window` is a chunk (Llama 4) rather than a sliding window
  std::int64_t layers = 0;      ///< real layers; the last group of a kind may hold fewer than `layers_per_group`
  std::int64_t block_size = 0;  ///< tokens a block; larger than the engine's where a layer's KV is narrower
};

/// Every block id stands for `layers_per_group` pages, one per layer of whichever group holds it.
struct KvLayout {
  std::vector<KvGroup> groups;
  std::int64_t layers_per_group = 0;
  Bytes page;          ///< one block of one layer on one rank
  Bytes drafter_page;  ///< one block of all layers of a drafter, which shares the block table

  [[nodiscard]] Bytes block_bytes() const { return page * layers_per_group + drafter_page; }
  /// Blocks that fit, rounded down; the engine keeps one of them as its null block.
  [[nodiscard]] std::int64_t blocks_in(Bytes memory) const { return memory / block_bytes(); }
  /// Blocks the longest request may hold at once in all groups: vLLM's admission cap for windowed groups,
  /// ceil(min(window - 1 + max_num_batched_tokens, tokens) / block) + 1.
  [[nodiscard]] std::int64_t blocks_of_request(Tokens tokens, std::int64_t max_num_batched_tokens) const;
  /// Longest request that fits in `blocks`.
  [[nodiscard]] Tokens longest_request(std::int64_t blocks, std::int64_t max_num_batched_tokens) const;
  /// Windows per group as EngineConfig::kv_groups wants them.
  [[nodiscard]] std::vector<std::int64_t> windows() const;
};

/// Groups as vLLM forms them: layers bucketed by kind and window; the group size is the smallest bucket, or the largest
/// when that is less than 1.5 times the smallest. Throws ConfigError for recurrent hybrids and unequal pages that do
/// not divide.
KvLayout kv_layout(const ModelSpec& model, const KvFormat& kv, std::int64_t block_size, const Shard& shard = {});

}  // namespace ridgeline
