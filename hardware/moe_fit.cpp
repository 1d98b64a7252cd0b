#include "hardware/moe_fit.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "sim/base/error.hpp"

namespace ridgeline {

FitProblem moe_problem(const GpuSpec& gpu, std::vector<MoeMeasurement> measured) {
  if (measured.empty()) throw InternalError("moe_problem: no rows");
  FitProblem problem;
  problem.parameters = {{"fixed", 2.0, 150.0, 20.0, false, "us"},
                        {"tensor_efficiency", 0.1, 1.0, 0.6, true},
                        {"load_bytes_per_clock", 5.0, 400.0, 60.0, true},
                        {"step_clocks", 20.0, 3000.0, 300.0, true},
                        {"prologue_steps", 0.0, 60.0, 5.0, true},
                        {"memory_efficiency", 0.3, 1.0, 0.85, true},
                        {"exposure", 0.0, 1.0, 0.25, true},
                        {"wave_quantisation", 0.0, 1.0, 0.5, true},
                        {"row_traffic", 0.1, 20.0, 1.5, true},
                        {"rows_elsewhere", 0.0, 1.0, 0.5, true}};
  const DType math = measured.front().shape.math;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> groups;
  for (const MoeMeasurement& row : measured) {
    if (row.shape.math != math) throw InternalError("moe_problem: mixed rows");
    problem.log_measured.push_back(std::log(row.time_us));
    const auto key = std::make_tuple(row.shape.hidden, row.shape.total_experts, row.shape.top_k);
    const auto [place, is_new] = groups.try_emplace(key, groups.size());
    if (is_new) {
      problem.group_names.push_back("hidden=" + std::to_string(row.shape.hidden) + " experts=" +
                                    std::to_string(row.shape.total_experts) + " top_k=" + std::to_string(row.shape.top_k));
    }
    problem.group.push_back(place->second);
  }
  const auto rows = std::make_shared<const std::vector<MoeMeasurement>>(std::move(measured));
  problem.evaluate = [&gpu, rows, math](std::span<const double> values, std::span<const std::size_t> chosen,
                                        std::span<double> log_price) {
    const MoeModel model(gpu, math, moe_parameters(values));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      log_price[i] = std::log(model.seconds((*rows)[chosen[i]].shape).total * 1e6);
    }
  };
  return problem;
}

MoeParameters moe_parameters(std::span<const double> values) {
  MoeParameters p;
  p.fixed = Duration::seconds(values[0] * 1e-6);
  p.tensor_efficiency = values[1];
  p.load_bytes_per_clock = values[2];
  p.step_clocks = values[3];
  p.prologue_steps = values[4];
  p.memory_efficiency = values[5];
  p.exposure = values[6];
  p.wave_quantisation = values[7];
  p.row_traffic = values[8];
  p.rows_elsewhere = values[9];
  return p;
}

}  // namespace ridgeline
