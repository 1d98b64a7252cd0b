// Engine flags, resolved: every field has the value the engine would run with. Names are vLLM's where vLLM has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/host_link.hpp"

namespace ridgeline {

/// Speculative decoding as asked for.
struct SpeculationConfig {
  /// From `batch_size` running sequences on, `tokens` drafts are proposed for each; 0 = none.
  struct Rung {
    std::int64_t batch_size = 0;
    int tokens = 0;
  };

  std::string method;                ///< ngram, eagle, eagle3, mtp, draft_model, medusa
  int num_speculative_tokens = 0;    ///< drafts to verify: a chain's length, or a tree's nodes without the root
  int tree_depth = 0;                ///< most drafts that can be accepted at once; 0 = a chain
  int tree_topk = 1;                 ///< branches that the drafter extends per level
  std::vector<double> acceptance;    ///< of a draft position (tree: depth), given that all before it were; last one repeats
  std::vector<int> accepted;         ///< fixed accepted counts per verify step, cyclic (scheduler tests)
  double match_probability = 1.0;    ///< n-gram: share of the steps after which drafts are found
  std::vector<Rung> by_batch_size;   ///< ascending; below the first, num_speculative_tokens
};

/// KV of running sequences that is dropped token by token. No flag of the engines: research policies to be tried in one.
struct KvEviction {
  enum class Policy : std::uint8_t {
    none,
    streaming_llm,  ///< the first `sinks` tokens and the last `window` stay (Xiao et al., ICLR 2024)
    h2o,            ///< `budget` tokens stay, heavy hitters and recent ones, once the prompt is done (Zhang et al., 2023)
  };
  Policy policy = Policy::none;
  std::int64_t sinks = 0;   ///< tokens
  std::int64_t window = 0;  ///< tokens
  std::int64_t budget = 0;  ///< tokens

  [[nodiscard]] bool on() const { return policy != Policy::none; }
  /// Most tokens a sequence keeps between steps.
  [[nodiscard]] std::int64_t most_kept() const { return policy == Policy::h2o ? budget : sinks + window; }
  /// Of `tokens` with KV, those kept. H2O needs the whole prompt until its attention scores are complete.
  [[nodiscard]] std::int64_t kept(std::int64_t tokens, bool in_prompt) const {
    if (policy == Policy::none || (policy == Policy::h2o && in_prompt)) return tokens;
    return tokens < most_kept() ? tokens : most_kept();
  }
};

/// Host memory for KV, and the way there. Counts and bytes are one GPU's.
struct HostKv {
  std::int64_t swap_blocks = 0;     ///< vLLM V0's swap space
  std::int64_t offload_blocks = 0;  ///< vLLM V1's offload tier; 0 = none
  Bytes block_bytes;                ///< of one KV block; 0 where no model says
  std::int64_t copies_per_block = 1;///< DMA copies of a swap: V0 moves K and V of each layer on their own
  HostLink link;
};

/// Resolved engine configuration of one pool.
struct EngineConfig {
  std::string profile;    ///< vllm-main-2026, vllm-0.11, …
  std::string scheduler;  ///< registry name: vllm_v1, …

  std::int64_t block_size = 16;           ///< tokens a KV block
  std::int64_t num_gpu_blocks = 0;        ///< as vLLM counts them, null block included
  std::int64_t max_num_seqs = 256;
  std::int64_t max_num_batched_tokens = 8192;
  std::int64_t max_model_len = 0;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::int64_t long_prefill_token_threshold = 0;
  std::string scheduling_policy = "fcfs";  ///< fcfs or priority
  bool async_scheduling = true;
  bool scheduler_reserve_full_isl = true;  ///< admission gate: the whole known sequence must fit in free blocks
  double watermark = 0.0;                  ///< fraction of blocks kept free at admission
  bool prepend_unhashed_free_blocks = true;///< since 2026-06-16; before, everything was appended
  bool chunked_off_skips = false;          ///< chunking off: a prompt over the budget is skipped (0.11), not a stop
  bool lookahead_at_admission = true;
  bool pads_new_decodes = true;
  std::vector<std::int64_t> kv_groups;     ///< per group 0 = full attention or a window in tokens; empty = one full group
  std::int64_t attention_window = 0;       ///< of the model's sliding layers, for BatchShape::decode_context_in_window; 0 = none
  std::optional<SpeculationConfig> speculation;
  std::string preemption_mode = "recompute";  ///< or swap (vLLM V0)
  std::string kv_reservation = "max";         ///< contiguous engines: max, pow2 or oracle; Orca's also paged
  KvEviction kv_eviction;
  HostKv host_kv;
  bool exact_steps = false;                ///< reference mode: walk the whole batch every step, name every block; same results
  std::uint64_t seed = 0;                  ///< for acceptance draws; streams are keyed per replica

  // Other engines' flags (SGLang, TensorRT-LLM, …), used by their schedulers only.
  std::int64_t chunked_prefill_size = 8192;
  std::int64_t max_prefill_tokens = 16384;
  std::string schedule_policy = "fcfs";
  double schedule_conservativeness = 1.0;
  bool enable_mixed_chunk = false;
  std::string capacity_policy = "guaranteed_no_evict";
  std::int64_t chunk_unit = 64;
  std::string chunk_policy = "fcfs";
  Duration max_queue_delay;                ///< dynamic_batching: how long a batch that isn't full waits for more requests
};

}  // namespace ridgeline
