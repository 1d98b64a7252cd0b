// Results of many points, one row each, for spreadsheets and plots.
#pragma once

#include <span>
#include <string>

#include "scenarios/sweep/sweep_table.hpp"

namespace ridgeline {

/// Columns: what sets the points apart, status, every metric, saturated, slo_met, reason. Rows in the order of the points.
std::string sweep_csv(const SweepTable& table);

/// The same for people: the main figures only, and below them why points have none.
std::string sweep_text(const SweepTable& table);

/// The main figures, a column each.
struct SweepColumn {
  const char* head;    ///< short: columns to the left may complete it
  const char* title;   ///< complete
  const char* metric;  ///< its name in `metrics()`
  bool share = false;
};
std::span<const SweepColumn> sweep_columns();
/// "-" where the point has no such figure.
std::string sweep_cell(const SweepColumn& column, const PointOutcome& outcome);

}  // namespace ridgeline
