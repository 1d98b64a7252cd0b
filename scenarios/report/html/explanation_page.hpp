// The report page of `explain SCENARIO`: where the time went, what would change it, how sure that is.
#pragma once

#include <vector>

#include "scenarios/explain/run_explanation.hpp"
#include "scenarios/report/html/page.hpp"

namespace ridgeline::html {

/// One scenario, or its alternatives. `explanations` is not empty.
Page explanation_page(const std::vector<RunExplanation>& explanations);

}  // namespace ridgeline::html
