// The engines' schedulers by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// `path` names the replica ("fleet[0].replica[3]"): the key of its random streams.
using MakeScheduler = std::unique_ptr<Scheduler> (*)(const EngineConfig& config, const std::string& path);

/// All schedulers, in the order `ridgeline list schedulers` prints them.
const std::vector<RegistryRow<MakeScheduler>>& schedulers();

}  // namespace ridgeline
