// Routing policies by name.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/serving/router.hpp"

namespace ridgeline {

/// Routers draw from streams keyed by (seed, "router", purpose).
using MakeRouter = std::unique_ptr<Router> (*)(std::size_t replicas, std::uint64_t seed);

/// All routers, in the order `ridgeline list routers` prints them.
const std::vector<RegistryRow<MakeRouter>>& routers();

std::unique_ptr<Router> make_round_robin(std::size_t replicas, std::uint64_t seed);
std::unique_ptr<Router> make_random(std::size_t replicas, std::uint64_t seed);
std::unique_ptr<Router> make_least_outstanding(std::size_t replicas, std::uint64_t seed);
std::unique_ptr<Router> make_power_of_two(std::size_t replicas, std::uint64_t seed);
std::unique_ptr<Router> make_least_kv(std::size_t replicas, std::uint64_t seed);

}  // namespace ridgeline
