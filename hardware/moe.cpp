#include "hardware/moe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hardware/overlap.hpp"
#include "hardware/rounding.hpp"
#include "sim/base/config.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

struct TileShape {
  double rows;
  double columns;
};

// Grouped kernels choose the rows of a tile by the rows an expert gets.
constexpr std::array<TileShape, 6> moe_tiles{{{16, 64}, {16, 128}, {32, 128}, {64, 128}, {128, 128}, {128, 256}}};
constexpr double step_bytes = 128.0;

double fourth_power(double x) { return (x * x) * (x * x); }

}  // namespace

MoeModel::MoeModel(const GpuSpec& gpu, DType math, const MoeParameters& parameters)
    : parameters_(parameters), sms_(gpu.sm_count), input_bytes_(bits(math) / 8.0), step_elements_(step_bytes / input_bytes_) {
  if (!gpu.supports(math)) {
    throw InternalError(gpu.name + " has no tensor-core path for " + std::string(to_string(math)));
  }
  const double clock = static_cast<double>(gpu.boost_mhz) * 1e6;
  seconds_per_flop_ = sms_ / (gpu.peak(math).count() * parameters.tensor_efficiency);
  seconds_per_load_ = 1.0 / (parameters.load_bytes_per_clock * clock);
  step_latency_ = parameters.step_clocks / clock;
  per_sm_ = 1.0 / sms_;
  steps_ = prepare_steps(input_bytes_);
  seconds_per_weight_byte_ = 1.0 / (gpu.memory_bandwidth.count() * parameters.memory_efficiency);
  seconds_per_row_byte_ = parameters.row_traffic / gpu.memory_bandwidth.count();
}

MoeModel::Steps MoeModel::prepare_steps(double weight_bytes) const {
  Steps steps{};
  for (std::size_t i = 0; i < tile_count; ++i) {
    const TileShape& tile = moe_tiles[i];
    const double multiply = 2.0 * tile.rows * tile.columns * step_elements_ * seconds_per_flop_;
    const double bytes = (tile.rows * input_bytes_ + tile.columns * weight_bytes) * step_elements_;
    const double fourth = fourth_power(multiply) + fourth_power(bytes * seconds_per_load_) + fourth_power(step_latency_);
    steps[i] = std::sqrt(std::sqrt(fourth));
  }
  return steps;
}

double MoeModel::product_compute(const ExpertLoad& load, double n, double k, const Steps& steps) const {
  const double length = ceil_of(k / step_elements_) + parameters_.prologue_steps;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tile_count; ++i) {
    const double waves = load.row_blocks(moe_tiles[i].rows) * ceil_of(n / moe_tiles[i].columns) * per_sm_;
    const double spread = std::max(waves, 1.0);
    const double busy = spread + parameters_.wave_quantisation * (ceil_of(waves) - spread);
    best = std::min(best, busy * length * steps[i]);
  }
  return best;
}

MoeModel::Seconds MoeModel::seconds(const MoeShape& shape) const {
  const ExpertLoad load = expert_load(shape);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto intermediate = static_cast<double>(shape.intermediate);
  const double weight_bytes = shape.weight_bits / 8.0;
  const double weights = load.active * hidden * intermediate * weight_bytes * seconds_per_weight_byte_;

  const bool is_native = std::abs(weight_bytes - input_bytes_) < 0.125;  // scales do not count
  const Steps& steps = is_native ? steps_ : prepare_steps(weight_bytes);
  const double halves = shape.gated ? 2.0 : 1.0;  // gate and up, or up alone

  const double up_compute = product_compute(load, halves * intermediate, hidden, steps);
  const double down_compute = product_compute(load, hidden, intermediate, steps);
  const double exposure = parameters_.exposure;
  const double products = overlapped(up_compute, halves * weights, exposure) + overlapped(down_compute, weights, exposure);

  // Ideal traffic of one row: read hidden, write and read gate and up, write and read their product, write and read hidden.
  const double all_rows = static_cast<double>(shape.tokens * shape.top_k);
  const double elsewhere = std::max(0.0, all_rows - load.rows) * parameters_.rows_elsewhere;
  const double row_bytes = 2.0 * (3.0 * hidden + 2.0 * (halves + 1.0) * intermediate);
  const double rows = (load.rows + elsewhere) * row_bytes * seconds_per_row_byte_;

  const double fixed = parameters_.fixed.seconds();
  return {fixed, up_compute + down_compute, (halves + 1.0) * weights + rows, fixed + products + rows};
}

FamilyPrice MoeModel::price(const MoeShape& shape) const {
  const Seconds time = seconds(shape);
  return {Duration::seconds(time.fixed), Duration::seconds(time.compute), Duration::seconds(time.memory),
          Duration::seconds(time.total)};
}

MoeParameters read_moe_parameters(MapReader& map) {
  MoeParameters parameters;
  parameters.fixed = map.require<Duration>("fixed", non_negative);
  parameters.tensor_efficiency = map.require<double>("tensor_efficiency", positive_fraction);
  parameters.load_bytes_per_clock = map.require<double>("load_bytes_per_clock", positive);
  parameters.step_clocks = map.require<double>("step_clocks", non_negative);
  parameters.prologue_steps = map.require<double>("prologue_steps", non_negative);
  parameters.memory_efficiency = map.require<double>("memory_efficiency", positive_fraction);
  parameters.exposure = map.require<double>("exposure", fraction);
  parameters.wave_quantisation = map.require<double>("wave_quantisation", fraction);
  parameters.row_traffic = map.require<double>("row_traffic", non_negative);
  parameters.rows_elsewhere = map.require<double>("rows_elsewhere", fraction);
  return parameters;
}

}  // namespace ridgeline
