// Static batching: a batch is formed when nothing runs, and no request joins it.
//
// `static` is FasterTransformer (df4a7534, ParallelGpt.cc): prompts are padded to the longest, finished rows stay in the
// batch, and all memory comes back when the last row ends. `static_early_free` is its re-implementation in sarathi-serve
// 96f99117: a request that ends leaves with its memory, nothing is padded. `dynamic_batching` is Triton's dynamic batcher
// before a FasterTransformer backend: while the batch is not full, it waits for more requests up to a maximum delay.
#pragma once

#include <memory>
#include <string>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// All use block_size, num_gpu_blocks, max_num_seqs, max_model_len, watermark, kv_reservation (by default every row reserves
/// max_model_len).
std::unique_ptr<Scheduler> make_static(const EngineConfig& config, const std::string& path);
std::unique_ptr<Scheduler> make_static_early_free(const EngineConfig& config, const std::string& path);
/// Uses max_queue_delay too: from the arrival of the oldest waiting request.
std::unique_ptr<Scheduler> make_dynamic_batching(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
