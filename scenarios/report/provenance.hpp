// Where the prices of a run come from, and how wrong they may be.
#pragma once

#include <nlohmann/json.hpp>

#include "scenarios/load/scenario.hpp"

namespace ridgeline {

/// Per operator family: provenance (measured, fitted, family, datasheet, given), whose measurements, expected relative error.
nlohmann::ordered_json provenance_json(const Scenario& scenario, const Pool& pool);

}  // namespace ridgeline
