#include "hardware/gemm_fit.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

/// Bounds are what hardware allows; neutral values are those of an average data-centre GPU since Ampere. A split_fixed of 20 us
/// means that the library never splits along k.
std::vector<FitParameter> product_parameters() {
  return {{"fixed", 0.5, 8.0, 2.2, false, "us"},
          {"tensor_efficiency", 0.3, 1.0, 0.85, true},
          {"load_bytes_per_clock", 5.0, 400.0, 70.0, true},
          {"step_clocks", 10.0, 1500.0, 200.0, true},
          {"prologue_steps", 0.0, 40.0, 3.0, true},
          {"memory_efficiency", 0.4, 1.0, 0.85},
          {"l2_bytes_per_clock", 5.0, 100.0, 20.0, true},
          {"split_fixed", 0.1, 20.0, 2.0, true, "us"},
          {"exposure", 0.0, 1.0, 0.25, true},
          {"wave_quantisation", 0.0, 1.0, 0.5, true},
          {"activation_l2_share", 0.05, 3.0, 0.5, true},
          {"weight_l2_share", 0.0, 0.5, 0.167, true}};  // six copies of a weight share the L2
}

std::vector<FitParameter> quantise_parameters() {
  return {{"quantise_fixed", 0.0, 12.0, 1.5, true, "us"},
          {"quantise_traffic", 0.5, 12.0, 1.5},
          {"quantise_l2_speedup", 1.0, 4.0, 1.5, true}};
}

Duration from_us(double us) { return Duration::seconds(us * 1e-6); }

}  // namespace

FitProblem gemm_problem(const GpuSpec& gpu, std::vector<GemmMeasurement> measured, std::optional<Duration> product_fixed) {
  FitProblem problem;
  problem.parameters = product_parameters();
  if (measured.empty()) throw InternalError("gemm_problem: no rows");
  const bool quantises = measured.front().shape.quantises_input;
  const DType math = measured.front().shape.math;
  if (product_fixed) {
    FitParameter& fixed = problem.parameters.front();
    fixed.least = fixed.most = fixed.neutral = product_fixed->microseconds();
    fixed.bounds_are_physical = true;
  }
  if (quantises) {
    for (FitParameter& parameter : quantise_parameters()) problem.parameters.push_back(std::move(parameter));
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> groups;
  for (const GemmMeasurement& row : measured) {
    if (row.shape.quantises_input != quantises || row.shape.math != math) throw InternalError("gemm_problem: mixed rows");
    problem.log_measured.push_back(std::log(row.time_us));
    const auto [place, is_new] = groups.try_emplace({row.shape.n, row.shape.k}, groups.size());
    if (is_new) problem.group_names.push_back("n=" + std::to_string(row.shape.n) + " k=" + std::to_string(row.shape.k));
    problem.group.push_back(place->second);
  }
  const auto rows = std::make_shared<const std::vector<GemmMeasurement>>(std::move(measured));
  problem.evaluate = [&gpu, rows, math](std::span<const double> values, std::span<const std::size_t> chosen,
                                        std::span<double> log_price) {
    const GemmFitted fitted = gemm_parameters(values);
    const GemmModel model(gpu, math, fitted.product);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const GemmMeasurement& row = (*rows)[chosen[i]];
      double us = model.seconds(row.shape, row.weights).total * 1e6;
      if (fitted.quantise) {
        us += price_quantise_input(row.shape.m, row.shape.k, math, *fitted.quantise, gpu).total.microseconds();
      }
      log_price[i] = std::log(us);
    }
  };
  return problem;
}

GemmFitted gemm_parameters(std::span<const double> values) {
  GemmFitted fitted;
  GemmParameters& p = fitted.product;
  p.fixed = from_us(values[0]);
  p.tensor_efficiency = values[1];
  p.load_bytes_per_clock = values[2];
  p.step_clocks = values[3];
  p.prologue_steps = values[4];
  p.memory_efficiency = values[5];
  p.l2_bytes_per_clock = values[6];
  p.split_fixed = from_us(values[7]);
  p.exposure = values[8];
  p.wave_quantisation = values[9];
  p.activation_l2_share = values[10];
  p.weight_l2_share = values[11];
  if (values.size() > gemm_parameter_count) fitted.quantise = {from_us(values[12]), values[13], values[14]};
  return fitted;
}

}  // namespace ridgeline
