// Engine profiles: what an engine of a given name and age does when its flags are left alone. One row per profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/composed_step_cost.hpp"

namespace ridgeline {

/// How the default token budget and batch limit follow the GPU.
enum class BudgetRule : std::uint8_t {
  vllm_v1,          ///< 8192 tokens and 1024 sequences from 70 GiB (A100 excepted), else 2048 and 256
  vllm_v1_big_tier, ///< the same, and 16384 tokens from 160 GiB
  vllm_v0,          ///< max_model_len without chunking, 512 with; 256 sequences
  sglang,           ///< chunk by memory class, 16384 prefill tokens; batch limit from the pool
  fixed,            ///< `max_num_batched_tokens` and `max_num_seqs` of the row
};

/// One profile. An option not in `options` is refused for it: nothing is silently ignored.
struct EngineProfile {
  std::string name;
  std::vector<std::string> aliases;
  std::string description;
  std::string scheduler;             ///< registry name in sim/scheduling
  std::vector<std::string> options;  ///< keys of `engine:` it understands beside the common ones
  HostOverhead host;
  BudgetRule budget = BudgetRule::fixed;
  std::int64_t max_num_batched_tokens = 0;  ///< of BudgetRule::fixed; 0 = the engine has no token budget
  std::int64_t max_num_seqs = 0;            ///< of BudgetRule::fixed
  std::int64_t block_size = 16;
  double gpu_memory_utilization = 0.9;
  double watermark = 0.0;
  bool enable_prefix_caching = false;
  bool enable_chunked_prefill = false;
  bool async_scheduling = false;
  bool reserve_full_isl = false;            ///< admission gate on the whole known sequence
  bool prepend_unhashed_free_blocks = false;
  bool chunked_off_skips = false;
  bool lookahead_at_admission = false;
  bool pads_new_decodes = false;
};

/// All profiles, in the order `ridgeline list engines` prints them.
const std::vector<EngineProfile>& engine_profiles();

/// By name or alias; nullptr when unknown.
const EngineProfile* find_engine_profile(std::string_view name);

}  // namespace ridgeline
