// How the points of a sweep form curves: which key runs along a curve, and which keys tell curves apart.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/sweep_table.hpp"

namespace ridgeline::html {

struct SweepCurves {
  struct Row {
    std::size_t row = 0;  ///< of the table
    double along = 0;     ///< value of `axis`; 0 without one
  };
  struct Curve {
    std::string name;
    std::vector<Row> rows;  ///< rising along the axis
  };
  std::optional<std::size_t> axis;  ///< swept numbers; absent: clouds of points
  std::vector<Curve> curves;
};

/// Points that ran. The axis is the swept number that sets the load, else the one with most values; every combination of the other
/// keys is a curve. Where these are too many to read, points are clouds by alternative or by the first key whose values are no numbers.
SweepCurves sweep_curves(const SweepTable& table);

}  // namespace ridgeline::html
