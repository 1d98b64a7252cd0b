// Scenario -> YAML with every default written out: itself a valid scenario with the same result.
#pragma once

#include <vector>

#include "scenarios/load/resolve_pool.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

/// `derived:` at its end holds what was computed (blocks, bytes), for people; loading computes it anew.
Config resolved_document(const Scenario& scenario, const std::vector<ResolvedPool>& pools);

}  // namespace ridgeline
