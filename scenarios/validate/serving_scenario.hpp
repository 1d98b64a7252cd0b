// The scenario that a published row states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/scenario.hpp"
#include "scenarios/validate/serving_row.hpp"

namespace ridgeline {

/// What a row amounts to: a scenario, or why there is none.
struct StatedScenario {
  std::optional<Scenario> scenario;
  std::string reason;  ///< for rows that can't be expressed
  std::string yaml;    ///< the scenario as text, to run by hand
  std::string gpu, engine, model, kind;
  Duration client_overhead;  ///< between client and engine, added to TTFT and E2E; a closed loop's rate does not see it
};

/// Builds and resolves the row's scenario. Everything the row leaves open has the engine's default; a `max_model_len` that the
/// memory can't hold is cut to the longest request, as the benchmark must have done.
/// `overrides` ("path.to.key=VALUE") change every row's scenario: what would the figures be if …
StatedScenario stated_scenario(const ServingRow& row, const std::vector<std::string>& overrides = {});

}  // namespace ridgeline
