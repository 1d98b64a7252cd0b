#include "scenarios/load/engine_memory.hpp"

#include <algorithm>
#include <cmath>

namespace ridgeline {

namespace {

bool is_sglang(const EngineProfile& profile) { return profile.scheduler == "sglang"; }

// Largest batch SGLang captures a decode graph for: by GPU memory in MiB and tensor parallelism.
std::int64_t sglang_max_graph(double mib, int tensor_parallel_size) {
  const bool wide = tensor_parallel_size >= 4;
  if (mib < 20'000) return 8;
  if (mib < 35'000) return wide ? 80 : 24;
  if (mib < 60'000) return wide ? 160 : 32;
  return mib < 160'000 && !wide ? 256 : 512;
}

Bytes share(double fraction, Bytes bytes) { return Bytes{std::llround(fraction * bytes.as_double())}; }

}  // namespace

std::optional<EngineAge> vllm_age(const EngineProfile& profile) {
  if (profile.name == "vllm-main-2026") return EngineAge::vllm_main_2026;
  if (profile.name == "vllm-0.11") return EngineAge::vllm_v1;
  // Sarathi-Serve, which re-implements Orca as well, is built on V0's worker.
  if (profile.name == "vllm-v0" || profile.name == "sarathi" || profile.name == "orca") return EngineAge::vllm_v0;
  return std::nullopt;
}

std::string_view memory_fraction_key(const EngineProfile& profile) {
  if (vllm_age(profile)) return "gpu_memory_utilization";
  return is_sglang(profile) ? "mem_fraction_static" : "free_gpu_memory_fraction";
}

double default_memory_fraction(const EngineProfile& profile, const EngineConfig& engine, int tensor_parallel_size, const GpuSpec& gpu) {
  if (!is_sglang(profile)) return profile.gpu_memory_utilization;
  const double mib = gpu.memory_visible.as_double() * 0x1p-20;
  const double chunk = static_cast<double>(std::max<std::int64_t>(engine.chunked_prefill_size, 2048));
  const double graphs = 2.0 * static_cast<double>(sglang_max_graph(mib, tensor_parallel_size));
  double reserved = 512.0 + 1.5 * chunk + 128.0 * tensor_parallel_size + graphs;
  if (mib > 60.0 * 1024.0) reserved = std::max(reserved, 10240.0);
  return std::round((mib - reserved) / mib * 1000.0) / 1000.0;
}

Bytes kv_memory(const EngineProfile& profile, const ModelSpec& model, const MemoryRequest& request) {
  MemoryRequest loaded = request;
  loaded.kv_cache_memory.reset();
  loaded.sampler = Sampler::flashinfer;  // no sort of all logits
  const MemoryBudget budget = memory_budget(model, loaded);
  const Bytes weights = budget.weights.total() + budget.drafter_weights;
  const double fraction = request.gpu_memory_utilization;
  const Bytes kv = is_sglang(profile) ? share(fraction, budget.total - budget.non_torch) - weights
                                      : share(fraction, budget.total - budget.non_torch - weights - budget.activations);
  return std::max(kv, Bytes{0});
}

std::int64_t sglang_max_running(std::int64_t kv_tokens, std::int64_t max_model_len) {
  const std::int64_t by_length = std::clamp<std::int64_t>(512 * kv_tokens / max_model_len, 2048, 4096);
  return std::max<std::int64_t>(1, std::min(by_length, kv_tokens / 2));
}

}  // namespace ridgeline
