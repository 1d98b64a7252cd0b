#include "sim/serving/kv_cache.hpp"

#include "sim/serving/kv_paged_cache.hpp"

namespace ridgeline {

std::unique_ptr<KvCache> make_kv_cache(const EngineConfig& config, int steps_in_flight) {
  return std::make_unique<PagedKvCache>(config, steps_in_flight);
}

}  // namespace ridgeline
