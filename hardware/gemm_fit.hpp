// How matrix products and activation quantisation plug into the fit (fit.hpp): rows grouped by weight shape (n, k), so that
// cross-validation leaves out whole shapes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hardware/fit.hpp"
#include "hardware/gemm.hpp"
#include "hardware/quantise_input.hpp"

namespace ridgeline {

struct GemmMeasurement {
  GemmShape shape;
  Weights weights = Weights::streamed;  ///< what the campaign did
  double time_us = 0.0;
};

/// What a fit to products in one number format yields.
struct GemmFitted {
  GemmParameters product;
  std::optional<QuantiseInputParameters> quantise;  ///< when the rows include it
};

/// All rows in one number format, all with or all without input quantisation. With it, the fixed times of the two kernels cannot be
/// told apart, so the product's is held at `product_fixed` (of the 16-bit product). `gpu` must outlive the problem.
FitProblem gemm_problem(const GpuSpec& gpu, std::vector<GemmMeasurement> rows, std::optional<Duration> product_fixed = std::nullopt);

/// Parameters from the values of that problem.
GemmFitted gemm_parameters(std::span<const double> values);

/// How many of a problem's parameters belong to the product; those of the quantisation follow.
inline constexpr std::size_t gemm_parameter_count = 12;

}  // namespace ridgeline
