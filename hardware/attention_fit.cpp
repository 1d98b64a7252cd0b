#include "hardware/attention_fit.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace ridgeline {

namespace {

Duration from_us(double us) { return Duration::seconds(us * 1e-6); }

/// Logarithms of the times and head configurations as groups; `price_row` prices one call for given values.
template <class Read, class Price>
FitProblem problem_of(std::vector<FitParameter> parameters, std::vector<AttentionMeasurement> measured, Read read, Price price_row) {
  FitProblem problem;
  problem.parameters = std::move(parameters);
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> groups;
  for (const AttentionMeasurement& row : measured) {
    problem.log_measured.push_back(std::log(row.time_us));
    const auto heads = std::make_tuple(row.shape.query_heads, row.shape.kv_heads, row.shape.head_dim);
    const auto [place, is_new] = groups.try_emplace(heads, groups.size());
    if (is_new) {
      problem.group_names.push_back("q_heads=" + std::to_string(row.shape.query_heads) +
                                    " kv_heads=" + std::to_string(row.shape.kv_heads) +
                                    " head_dim=" + std::to_string(row.shape.head_dim));
    }
    problem.group.push_back(place->second);
  }
  const auto rows = std::make_shared<const std::vector<AttentionMeasurement>>(std::move(measured));
  problem.evaluate = [rows, read, price_row](std::span<const double> values, std::span<const std::size_t> chosen,
                                             std::span<double> log_price) {
    const auto fitted = read(values);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const AttentionMeasurement& row = (*rows)[chosen[i]];
      AttentionShape shape = row.shape;
      shape.chunks = row.chunks;
      log_price[i] = std::log(price_row(shape, fitted).total.microseconds());
    }
  };
  return problem;
}

}  // namespace

// Times in microseconds. The ceilings of efficiencies and exponents keep a fit from trading one degenerate value for another.
FitProblem attention_decode_problem(const GpuSpec& gpu, AttentionKernel kernel, std::vector<AttentionMeasurement> rows) {
  std::vector<FitParameter> parameters{{"launch", 2.0, 40.0, 9.0, false, "us"},
                                       {"work_item", 0.02, 20.0, 2.0, false, "us"},
                                       {"tile_efficiency", 0.05, 0.9, 0.5},
                                       {"combine", 0.0, 10.0, 1.0, true, "us"},
                                       {"combine_per_split", 0.0, 1.0, 0.1, true, "us"},
                                       {"hbm_efficiency", 0.4, 0.97, 0.9},
                                       {"l2_speedup", 1.0, 4.0, 1.5, true},
                                       {"l2_share", 0.5, 1.6, 1.0},
                                       {"hbm_ramp", 0.0, 10.0, 5.0, true, "us"},
                                       {"overlap_exponent", 1.0, 4.0, 2.0, true}};
  if (traits(kernel).splits_swapped_only) parameters.push_back({"head_packing", 0.0, 10.0, 4.0, true, "us"});
  return problem_of(
      std::move(parameters), std::move(rows),
      [kernel](std::span<const double> values) { return attention_decode_parameters(kernel, values); },
      [&gpu](const AttentionShape& shape, const AttentionDecodeParameters& p) { return price_decode(shape, p, gpu); });
}

AttentionDecodeParameters attention_decode_parameters(AttentionKernel kernel, std::span<const double> values) {
  AttentionDecodeParameters p;
  p.kernel = kernel;
  p.launch = from_us(values[0]);
  p.work_item = from_us(values[1]);
  p.tile_efficiency = values[2];
  p.combine = from_us(values[3]);
  p.combine_per_split = from_us(values[4]);
  p.hbm_efficiency = values[5];
  p.l2_speedup = values[6];
  p.l2_share = values[7];
  p.hbm_ramp = from_us(values[8]);
  p.overlap_exponent = values[9];
  if (values.size() > 10) p.head_packing = from_us(values[10]);
  return p;
}

FitProblem attention_prefill_problem(const GpuSpec& gpu, AttentionKernel kernel, std::vector<AttentionMeasurement> rows) {
  std::vector<FitParameter> parameters{{"launch", 2.0, 40.0, 9.0, false, "us"},
                                       {"work_item", 0.02, 20.0, 1.5, false, "us"},
                                       {"tile_efficiency", 0.1, 1.0, 0.6},
                                       {"head_dim_exponent", -0.5, 1.0, 0.0},
                                       {"hbm_efficiency", 0.05, 0.97, 0.5},
                                       {"balance_exponent", 1.0, 8.0, 2.0, true},
                                       {"overlap_exponent", 1.0, 4.0, 1.2, true}};
  if (traits(kernel).splits_swapped_only) parameters.push_back({"idle_tile", 0.0, 3.0, 0.47, false, "us"});
  return problem_of(
      std::move(parameters), std::move(rows),
      [kernel](std::span<const double> values) { return attention_prefill_parameters(kernel, values); },
      [&gpu](const AttentionShape& shape, const AttentionPrefillParameters& p) { return price_prefill(shape, p, gpu); });
}

AttentionPrefillParameters attention_prefill_parameters(AttentionKernel kernel, std::span<const double> values) {
  AttentionPrefillParameters p;
  p.kernel = kernel;
  p.launch = from_us(values[0]);
  p.work_item = from_us(values[1]);
  p.tile_efficiency = values[2];
  p.head_dim_exponent = values[3];
  p.hbm_efficiency = values[4];
  p.balance_exponent = values[5];
  p.overlap_exponent = values[6];
  if (values.size() > 7) p.idle_tile = from_us(values[7]);
  return p;
}

}  // namespace ridgeline
