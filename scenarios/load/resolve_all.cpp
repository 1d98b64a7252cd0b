#include "scenarios/load/resolve_all.hpp"

#include <set>

#include "scenarios/load/load_scenario.hpp"

namespace ridgeline {

std::vector<LabelledScenario> resolve_all(const std::vector<ScenarioPoint>& points) {
  std::vector<LabelledScenario> scenarios;
  Diagnostics errors;
  std::set<std::string> seen;
  for (const ScenarioPoint& point : points) {
    try {
      scenarios.push_back({point.label, resolve_scenario(point.document)});
    } catch (const ConfigError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) {
        if (seen.insert(to_string(diagnostic)).second) errors.add(diagnostic);
      }
    }
  }
  errors.throw_if_any();
  return scenarios;
}

}  // namespace ridgeline
