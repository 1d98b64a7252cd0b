// vLLM V0 (2023 to 2024): a step is either whole prompts, if any waiting one fits, or one token of every running request.
// Rules: sarathi-serve 96f99117, vllm_scheduler.py; vLLM 0.2 to 0.5. Preemption by swap: vLLM 0.5, core/scheduler.py.
#pragma once

#include <memory>
#include <string>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// Uses block_size, num_gpu_blocks, max_num_seqs, max_num_batched_tokens, max_model_len, watermark, preemption_mode,
/// host_kv.
std::unique_ptr<Scheduler> make_vllm_v0(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
