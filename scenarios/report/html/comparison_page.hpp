// The report page of `compare`: each rival beside the first scenario, and what moved the difference.
#pragma once

#include "scenarios/report/html/page.hpp"
#include "scenarios/study/comparison.hpp"

namespace ridgeline::html {

Page comparison_page(const Comparison& comparison);

}  // namespace ridgeline::html
