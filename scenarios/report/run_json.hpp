// A run's result as JSON, in the field names of vLLM's serving benchmark: a stable contract (docs/metrics.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

nlohmann::ordered_json run_json(const Scenario& scenario, const RunResult& result);

/// What a careful reader should know of this run: the scenario's warnings, the workload's, and saturation.
std::vector<std::string> run_warnings(const Scenario& scenario, const RunResult& result);

/// Did the run meet the objective? Null when there is none, or none that is judged (neither `percentile` nor `goodput` given).
std::optional<bool> meets(const Slo& slo, const RunMetrics& metrics);

/// What to tell about a run with `near_knee`.
std::string knee_text(const RunMetrics& metrics);

}  // namespace ridgeline
