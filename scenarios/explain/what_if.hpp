// A scenario with more or less of one resource: what a better chip, link or drafter would be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "scenarios/load/scenario.hpp"

namespace ridgeline {

enum class Resource : std::uint8_t { memory_bandwidth, compute, link_bandwidth, memory_capacity, host_time, acceptance };

inline constexpr std::array all_resources{Resource::memory_bandwidth, Resource::compute,   Resource::link_bandwidth,
                                          Resource::memory_capacity,  Resource::host_time, Resource::acceptance};

constexpr std::string_view to_string(Resource resource) {
  constexpr std::array<std::string_view, all_resources.size()> names{"memory_bandwidth", "compute",   "link_bandwidth",
                                                                     "memory_capacity",  "host_time", "acceptance"};
  return names[static_cast<std::size_t>(resource)];
}

/// Every pool with `factor` times the resource; calibrated efficiencies, flags and prices per hour stay what they are.
/// - memory_bandwidth: of the HBM.
/// - compute: the clock, hence the peaks of the tensor cores and the rates inside the chip.
/// - link_bandwidth: between the GPUs of a tensor-parallel group, and of the network cards.
/// - memory_capacity: the same share of a larger card, all that is gained going to KV blocks; of a stated KV pool, that pool.
/// - host_time: CPU time a step.
/// - acceptance: chance of each draft token, at most 1.
/// Nullopt where no pool has the resource or feels it: links without parallelism, acceptance without drafts.
std::optional<Scenario> with_resource(const Scenario& scenario, Resource resource, double factor);

}  // namespace ridgeline
