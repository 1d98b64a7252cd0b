// Results of many points, one row each, for spreadsheets and plots.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

/// What became of one point: a result, or why there is none.
struct PointResult {
  std::optional<Scenario> scenario;
  std::optional<RunResult> result;
  std::string error;
};

/// Columns: what sets the points apart, status (ok or refused), figures of the fleet, error. Rows in the order of the points.
std::string sweep_csv(const std::vector<ScenarioPoint>& points, const std::vector<PointResult>& results);

/// The same for people: the main figures only.
std::string sweep_table(const std::vector<ScenarioPoint>& points, const std::vector<PointResult>& results);

}  // namespace ridgeline
