// The report page of `plan`, whichever of its questions was asked.
#pragma once

#include "scenarios/plan/plan_result.hpp"
#include "scenarios/report/html/page.hpp"

namespace ridgeline::html {

Page plan_page(const PlanResult& result);

}  // namespace ridgeline::html
