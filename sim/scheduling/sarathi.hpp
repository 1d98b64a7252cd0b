// Sarathi-Serve (Agrawal et al., OSDI 2024): every decode runs in every step, chunks of prompts fill the rest of a fixed
// token budget. Rules: sarathi-serve 96f99117, sarathi_scheduler.py, without its slips (a victim admitted again in the
// step that preempted it; output counts that restart).
#pragma once

#include <memory>
#include <string>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// Uses block_size, num_gpu_blocks, max_num_seqs, max_num_batched_tokens (the chunk size), max_model_len, watermark.
std::unique_ptr<Scheduler> make_sarathi(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
