// A document to all its scenarios, with the mistakes of all of them in one go.
#pragma once

#include <string>
#include <vector>

#include "scenarios/load/expand.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

struct LabelledScenario {
  std::string label;
  Scenario scenario;
};

/// Throws one ConfigError with the mistakes of every point; one that several points share is named once.
std::vector<LabelledScenario> resolve_all(const std::vector<ScenarioPoint>& points);

}  // namespace ridgeline
