// `ridgeline plan`: a document and its `plan:` section to an answer.
#pragma once

#include "scenarios/plan/evaluate.hpp"
#include "scenarios/plan/plan_result.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

/// Throws ConfigError: mistakes in the scenario or its section; no candidate fits into memory.
PlanResult plan(const Config& document, const PlanOptions& options);

}  // namespace ridgeline
