// Results of many points, one row each, for spreadsheets and plots.
#pragma once

#include <string>

#include "scenarios/sweep/sweep_table.hpp"

namespace ridgeline {

/// Columns: what sets the points apart, status, every metric, saturated, slo_met, reason. Rows in the order of the points.
std::string sweep_csv(const SweepTable& table);

/// The same for people: the main figures only, and below them why points have none.
std::string sweep_text(const SweepTable& table);

}  // namespace ridgeline
