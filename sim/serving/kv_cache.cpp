#include "sim/serving/kv_cache.hpp"

#include "sim/serving/kv_evicting_cache.hpp"
#include "sim/serving/kv_paged_cache.hpp"
#include "sim/serving/kv_run_cache.hpp"

namespace ridgeline {

std::unique_ptr<KvCache> make_kv_cache(const EngineConfig& config, int steps_in_flight) {
  if (config.kv_eviction.on()) return std::make_unique<EvictingKvCache>(config);
  const bool full_attention =
      config.kv_groups.empty() || (config.kv_groups.size() == 1 && config.kv_groups.front() == 0);
  if (full_attention && !config.exact_steps) return std::make_unique<RunKvCache>(config);
  return std::make_unique<PagedKvCache>(config, steps_in_flight);
}

}  // namespace ridgeline
