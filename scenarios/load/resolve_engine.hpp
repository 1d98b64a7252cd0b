// Reads a pool's `engine:` map and fills what it leaves open from the engine's profile, the model and the GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/gpu.hpp"
#include "models/model_spec.hpp"
#include "scenarios/load/engine_profiles.hpp"
#include "scenarios/load/resolve_speculation.hpp"
#include "sim/base/config.hpp"
#include "sim/serving/engine_config.hpp"

namespace ridgeline {

/// `engine:` as written. Options without a default of their own are optional: nullopt = what the profile does.
struct EngineKeys {
  const EngineProfile* profile = nullptr;  ///< null after a mistake in `profile`
  int tensor_parallel_size = 1;
  std::string dtype = "auto";
  std::string quantization = "auto";
  std::string kv_cache_dtype = "auto";
  bool enforce_eager = false;

  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> chunked_prefill_size;
  std::optional<std::int64_t> block_size;
  std::optional<double> gpu_memory_utilization;
  std::optional<std::int64_t> num_gpu_blocks_override;
  std::optional<Bytes> kv_cache_memory_bytes;
  HostOverhead host;  ///< the profile's unless given
  std::optional<SpeculationKeys> speculation;
  std::optional<Bytes> swap_space;          ///< host memory per GPU, of preemption by swap only
  std::optional<Bytes> kv_offloading_size;  ///< host memory for all GPUs of a replica

  EngineConfig config;  ///< the flags with plain defaults, the profile's where it has one
};

/// Every mistake goes to `errors`: unknown keys, options the profile does not have, parallelism that is not simulated.
EngineKeys read_engine(const Config& node, Diagnostics& errors);

/// The token budget and batch limit an engine picks for a GPU (vLLM `engine/arg_utils.py`), and the rest of the flags.
/// `max_model_len` is the resolved one; `gpu` may be null when the scenario has none.
EngineConfig resolve_engine(const EngineKeys& keys, std::int64_t max_model_len, const GpuSpec* gpu);

/// Sizes of the batches for which the engine captures CUDA graphs, ascending. Empty when it runs eagerly.
/// `rounds_to_drafts`: to multiples of 1 + k, as vLLM's model runner V1 does.
std::vector<std::int64_t> cudagraph_capture_sizes(const EngineKeys& keys, const EngineConfig& engine, const GpuSpec& gpu,
                                                  bool rounds_to_drafts = false);

}  // namespace ridgeline
