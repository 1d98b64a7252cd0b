// The KV memory that engines other than vLLM leave. Each takes its fraction of something else, so each has its own name for it.
#pragma once

#include <string_view>

#include "hardware/gpu.hpp"
#include "models/memory_budget.hpp"
#include "scenarios/load/engine_profiles.hpp"
#include "sim/serving/engine_config.hpp"

namespace ridgeline {

/// gpu_memory_utilization (vLLM and what grew out of it), mem_fraction_static (SGLang), or free_gpu_memory_fraction (TensorRT-LLM and
/// static batches).
std::string_view memory_fraction_key(const EngineProfile& profile);

/// The fraction when the scenario gives none. SGLang's follows GPU, chunk and ranks (server_args.py), rounded to three digits.
double default_memory_fraction(const EngineProfile& profile, const EngineConfig& engine, int tensor_parallel_size, const GpuSpec& gpu);

/// Which of vLLM's start-up profiles the engine runs; nullopt for those with a rule of their own.
std::optional<EngineAge> vllm_age(const EngineProfile& profile);

/// KV memory of one GPU of an engine with a rule of its own. SGLang: free after the weights - (1 - fraction) x free at start. TensorRT-LLM:
/// fraction x what is free once weights and workspaces are there. Never negative. `request` is as for `memory_budget`.
Bytes kv_memory(const EngineProfile& profile, const ModelSpec& model, const MemoryRequest& request);

/// SGLang's default limit of running requests: clamp(512 x KV tokens / context, 2048, 4096), at most half the KV tokens.
std::int64_t sglang_max_running(std::int64_t kv_tokens, std::int64_t max_model_len);

}  // namespace ridgeline
