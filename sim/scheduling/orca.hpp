// Orca (Yu et al., OSDI 2022): batches are formed anew every iteration, whole prompts ride with decodes, and every request
// reserves a contiguous range of KV memory. Rules as re-implemented in sarathi-serve 96f99117, orca_scheduler.py.
#pragma once

#include <memory>
#include <string>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// Uses block_size, num_gpu_blocks, max_num_seqs, max_model_len, watermark, kv_reservation (`paged` too).
std::unique_ptr<Scheduler> make_orca(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
