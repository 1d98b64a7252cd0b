// How the expert layer plugs into the fit (fit.hpp): rows grouped by model (hidden size, experts, experts per token), so that
// cross-validation leaves out whole models.
#pragma once

#include <span>
#include <vector>

#include "hardware/fit.hpp"
#include "hardware/moe.hpp"

namespace ridgeline {

struct MoeMeasurement {
  MoeShape shape;
  double time_us = 0.0;
};

/// All rows in one number format. `gpu` must outlive the problem.
FitProblem moe_problem(const GpuSpec& gpu, std::vector<MoeMeasurement> rows);

/// Parameters from the values of that problem.
MoeParameters moe_parameters(std::span<const double> values);

}  // namespace ridgeline
