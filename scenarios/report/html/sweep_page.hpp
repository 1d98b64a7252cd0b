// The report page of `sweep`: every point, and the curves that they form.
#pragma once

#include "scenarios/report/html/page.hpp"
#include "scenarios/sweep/sweep_table.hpp"

namespace ridgeline::html {

Page sweep_page(const SweepTable& table);

}  // namespace ridgeline::html
