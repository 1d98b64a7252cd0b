// TensorRT-LLM's batch manager: a capacity scheduler picks requests that fit the KV pool, then a micro-batch scheduler fills
// the token budget. Rules: batch_manager/ capacityScheduler.cpp 02a10fed, microBatchScheduler.cpp 0a949d31,
// scheduledBlocksManager.cpp ca64fd93. Not modelled: several micro-batches.
#pragma once

#include <memory>
#include <string>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// Uses block_size (tokens_per_block), num_gpu_blocks, max_num_seqs (max_batch_size), max_num_batched_tokens
/// (max_num_tokens), max_model_len, capacity_policy (guaranteed_no_evict, max_utilization, static_batch),
/// enable_prefix_caching (block reuse), enable_chunked_prefill (chunked context), chunk_unit, chunk_policy (fcfs, equal_progress).
std::unique_ptr<Scheduler> make_tensorrt_llm(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
