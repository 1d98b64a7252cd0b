// SGLang: prompts first, decodes when no prompt can run; admission by an estimate of what running requests will still
// generate, retraction when the estimate was too low; a radix tree as prefix cache. Rules: sglang 9fec359a,
// managers/scheduler.py, schedule_policy.py, schedule_batch.py. The overlapped loop is a matter of host cost, not of rules.
#pragma once

#include <memory>
#include <string>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// Uses block_size (page_size), num_gpu_blocks (pages), max_num_seqs (max_running_requests), max_model_len,
/// enable_prefix_caching (radix cache), chunked_prefill_size (-1 = off), max_prefill_tokens, schedule_policy (fcfs, lpm,
/// dfs-weight, lof, random), schedule_conservativeness, enable_mixed_chunk, seed (for random).
std::unique_ptr<Scheduler> make_sglang(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
