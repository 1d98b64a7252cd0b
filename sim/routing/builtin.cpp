#include "sim/routing/builtin.hpp"

namespace ridgeline {

const std::vector<RegistryRow<MakeRouter>>& routers() {
  static const std::vector<RegistryRow<MakeRouter>> rows{
      {"round-robin", "each replica in turn", {}, make_round_robin},
      {"random", "uniformly at random", {}, make_random},
      {"least-outstanding", "fewest requests routed and unfinished; ties go to the lowest replica", {}, make_least_outstanding},
      {"power-of-two", "the less loaded of two replicas drawn at random", {}, make_power_of_two},
      {"least-kv", "lowest share of KV blocks in use; ties by outstanding requests, then lowest replica", {}, make_least_kv},
  };
  return rows;
}

}  // namespace ridgeline
