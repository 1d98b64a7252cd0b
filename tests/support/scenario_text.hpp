// Scenarios written in a test's own text.
#pragma once

#include <string>

#include "scenarios/build/run.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "sim/base/config.hpp"

namespace ridgeline::test {

inline Scenario scenario_of(const std::string& yaml) { return resolve_scenario(Config::parse(yaml, "test.yaml")); }

inline RunResult run_text(const std::string& yaml, const RunOptions& options = {}) { return run(scenario_of(yaml), options); }

}  // namespace ridgeline::test
