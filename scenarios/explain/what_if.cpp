#include "scenarios/explain/what_if.hpp"

#include <algorithm>
#include <cmath>

namespace ridgeline {

namespace {

std::int64_t scaled(std::int64_t value, double factor) { return std::llround(static_cast<double>(value) * factor); }
Duration scaled(Duration value, double factor) { return Duration{scaled(value.count(), factor)}; }

// What the blocks of `pool` become. A share of the card's memory goes to the cache with every further byte.
std::int64_t blocks_of(const Pool& pool, double factor) {
  if (!pool.memory || pool.memory->kv_given || pool.num_gpu_blocks_override) return scaled(pool.engine.num_gpu_blocks, factor);
  const Bytes gained{scaled(pool.memory->requested.count(), factor - 1.0)};
  return pool.memory->layout.blocks_in(std::max(Bytes{}, pool.memory->kv + gained));
}

// Each returns whether the pool feels the change.
bool scale_bandwidth(Pool& pool, double factor) {
  if (!pool.gpu) return false;
  pool.gpu->memory_bandwidth *= factor;
  return true;
}

bool scale_compute(Pool& pool, double factor) {
  if (!pool.gpu) return false;
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16, DType::fp8, DType::int8, DType::fp4, DType::int4, DType::int2}) {
    pool.gpu->set_peak(type, pool.gpu->peak(type) * factor);
  }
  pool.gpu->boost_mhz = scaled(pool.gpu->boost_mhz, factor);
  return true;
}

bool scale_links(Pool& pool, double factor) {
  if (!pool.gpu || !pool.node || pool.tensor_parallel_size == 1) return false;
  pool.gpu->link.per_gpu *= factor;
  pool.gpu->link.per_pair *= factor;
  pool.node->peer_bandwidth *= factor;
  pool.node->nic_bandwidth *= factor;
  return true;
}

bool scale_capacity(Pool& pool, double factor) {
  pool.engine.num_gpu_blocks = blocks_of(pool, factor);
  return true;
}

bool scale_host(Pool& pool, double factor) {
  const bool any = pool.host.per_step > Duration{} || pool.host.per_sequence > Duration{};
  pool.host.per_step = scaled(pool.host.per_step, factor);
  pool.host.per_sequence = scaled(pool.host.per_sequence, factor);
  return any;
}

bool scale_acceptance(Pool& pool, double factor) {
  if (!pool.engine.speculation || pool.engine.speculation->acceptance.empty()) return false;
  for (double& chance : pool.engine.speculation->acceptance) chance = std::min(1.0, chance * factor);
  return true;
}

}  // namespace

std::optional<Scenario> with_resource(const Scenario& scenario, Resource resource, double factor) {
  const bool priced = scenario.cost.kind != CostKind::constant;  // a constant step feels no chip
  Scenario changed = scenario;
  bool felt = false;
  for (Pool& pool : changed.fleet) {
    switch (resource) {
      case Resource::memory_bandwidth: felt |= priced && scale_bandwidth(pool, factor); break;
      case Resource::compute: felt |= priced && scale_compute(pool, factor); break;
      case Resource::link_bandwidth: felt |= priced && scale_links(pool, factor); break;
      case Resource::memory_capacity: felt |= scale_capacity(pool, factor); break;
      case Resource::host_time: felt |= priced && scale_host(pool, factor); break;
      case Resource::acceptance: felt |= scale_acceptance(pool, factor); break;
    }
  }
  return felt ? std::optional(std::move(changed)) : std::nullopt;
}

}  // namespace ridgeline
