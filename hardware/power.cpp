#include "hardware/power.hpp"

namespace ridgeline {

std::array<Watts, cause_count> power_by_cause(const GpuSpec& gpu) {
  std::array<Watts, cause_count> power{};
  const auto set = [&](Cause cause, double share) { power[static_cast<std::size_t>(cause)] = Watts{gpu.tdp.count() * share}; };
  set(Cause::compute, 0.98);
  set(Cause::weights, 0.67);
  set(Cause::kv, 0.60);
  set(Cause::activations, 0.60);
  set(Cause::communication, 0.50);
  // Between kernels the clocks stay up: batch-8 serving of a small MoE, mostly launch latency, draws about half the limit.
  set(Cause::overhead, 0.45);
  set(Cause::host, 0.30);
  power[static_cast<std::size_t>(Cause::idle)] = gpu.idle;
  return power;
}

}  // namespace ridgeline
