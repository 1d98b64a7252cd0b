#include "sim/scheduling/builtin.hpp"

namespace ridgeline {

const std::vector<RegistryRow<MakeScheduler>>& schedulers() {
  static const std::vector<RegistryRow<MakeScheduler>> rows{};
  return rows;
}

}  // namespace ridgeline
