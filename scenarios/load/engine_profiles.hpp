// Engine profiles: what an engine of a given name and age does when its flags are left alone. One row per profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace ridgeline {

/// CPU time of one engine step: scheduling, input preparation, sampling, detokenising.
struct HostOverhead {
  Duration fixed;         ///< a step
  Duration per_sequence;  ///< and scheduled sequence
  bool overlapped = true; ///< runs beside the GPU: step = max(host, gpu); otherwise host + gpu
};

/// Flags of one profile. An option not in `options` is refused for it: nothing is silently ignored.
struct EngineProfile {
  std::string name;
  std::string description;
  std::string scheduler;                ///< registry name in sim/scheduling
  std::vector<std::string> options;     ///< keys of `engine:` it understands beside the common ones
  std::int64_t block_size = 16;
  double gpu_memory_utilization = 0.9;
  bool big_gpu_tier = false;            ///< 16,384 batched tokens at >= 160 GiB (vLLM since 2026-08-11)
  bool enable_prefix_caching = false;
  bool enable_chunked_prefill = false;
  bool async_scheduling = false;
  bool scheduler_reserve_full_isl = false;
  double watermark = 0.0;
  HostOverhead host;
};

/// All profiles, in the order `ridgeline list engines` prints them.
const std::vector<EngineProfile>& engine_profiles();

/// By name or alias; nullptr when unknown.
const EngineProfile* find_engine_profile(std::string_view name);

}  // namespace ridgeline
