// Routing policies by name.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/serving/router.hpp"

namespace ridgeline {

/// What a router is made of.
struct RouterSetup {
  std::size_t replicas = 0;
  std::uint64_t seed = 0;  ///< routers draw from streams keyed by (seed, "router", purpose)
  RouterConfig config;
};
using MakeRouter = std::unique_ptr<Router> (*)(const RouterSetup& setup);

/// All routers, in the order `ridgeline list routers` prints them.
const std::vector<RegistryRow<MakeRouter>>& routers();

std::unique_ptr<Router> make_round_robin(const RouterSetup& setup);
std::unique_ptr<Router> make_random(const RouterSetup& setup);
std::unique_ptr<Router> make_least_outstanding(const RouterSetup& setup);
std::unique_ptr<Router> make_power_of_two(const RouterSetup& setup);
std::unique_ptr<Router> make_least_kv(const RouterSetup& setup);
std::unique_ptr<Router> make_llm_d(const RouterSetup& setup);
std::unique_ptr<Router> make_sglang_cache_aware(const RouterSetup& setup);
std::unique_ptr<Router> make_production_stack_session(const RouterSetup& setup);
std::unique_ptr<Router> make_production_stack_prefix(const RouterSetup& setup);
std::unique_ptr<Router> make_dynamo_kv(const RouterSetup& setup);

}  // namespace ridgeline
