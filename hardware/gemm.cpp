#include "hardware/gemm.hpp"

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
  std::int64_t rows;
  std::int64_t columns;
};

// Tile shapes that cuBLAS and CUTLASS ship for Ampere to Blackwell. The small ones stand for kernels that swap A and W, so
// that few tokens fill the narrow side of the tensor core's tile.
constexpr std::array<TileShape, 8> gemm_tiles{
    {{16, 64}, {64, 64}, {64, 128}, {128, 64}, {128, 128}, {64, 256}, {128, 256}, {256, 128}}};
constexpr double step_bytes = 128.0;      // one swizzled row of shared memory
constexpr double least_split_steps = 4.0; // below that a split along k only adds prologues
constexpr double most_splits = 32.0;
constexpr double selection_overlap = 0.2; // how far the shorter of compute and memory counts when kernels are compared

double fourth_power(double x) { return (x * x) * (x * x); }

}  // namespace

GemmModel::GemmModel(const GpuSpec& gpu, DType math, const GemmParameters& parameters)
    : parameters_(parameters),
      sms_(gpu.sm_count),
      fixed_(parameters.fixed.seconds()),
      split_fixed_(parameters.split_fixed.seconds()),
      input_bytes_(bits(math) / 8.0),
      step_elements_(step_bytes / input_bytes_) {
  if (!gpu.supports(math)) {
    throw InternalError(gpu.name + " has no tensor-core path for " + std::string(to_string(math)));
  }
  const double clock = static_cast<double>(gpu.boost_mhz) * 1e6;
  per_step_ = 1.0 / step_elements_;
  per_sm_ = 1.0 / sms_;
  seconds_per_flop_ = sms_ / (gpu.peak(math).count() * parameters.tensor_efficiency);
  seconds_per_load_ = 1.0 / (parameters.load_bytes_per_clock * clock);
  step_latency_ = parameters.step_clocks / clock;
  tiles_ = prepare_tiles(input_bytes_);
  seconds_per_hbm_byte_ = 1.0 / (gpu.memory_bandwidth.count() * parameters.memory_efficiency);
  seconds_per_l2_byte_ = 1.0 / (parameters.l2_bytes_per_clock * clock * sms_);
  activation_l2_bytes_ = parameters.activation_l2_share * gpu.l2.as_double();
  weight_l2_bytes_ = parameters.weight_l2_share * gpu.l2.as_double();
}

GemmModel::Tiles GemmModel::prepare_tiles(double weight_bytes) const {
  Tiles tiles;
  for (std::size_t i = 0; i < tile_count; ++i) {
    const auto rows = static_cast<double>(gemm_tiles[i].rows);
    const auto columns = static_cast<double>(gemm_tiles[i].columns);
    const double multiply = 2.0 * rows * columns * step_elements_ * seconds_per_flop_;
    const double load = (rows * input_bytes_ + columns * weight_bytes) * step_elements_ * seconds_per_load_;
    const double fourth = fourth_power(multiply) + fourth_power(load) + fourth_power(step_latency_);
    // Tiles of more than 64 rows are for more than half as many; the narrowest are for a few at most.
    const double least_m = rows > 64.0 ? 0.5 * rows : 0.0;
    const double most_m = rows < 64.0 ? 32.0 * rows : std::numeric_limits<double>::infinity();
    tiles[i] = {1.0 / rows, 1.0 / columns, std::sqrt(std::sqrt(fourth)), least_m, most_m};
  }
  return tiles;
}

double GemmModel::memory_seconds(const GemmShape& shape, Weights weights) const {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double activations = m * (k * input_bytes_ + n * 2.0);  // the output has 16 bits
  const double weight = n * k * shape.weight_bits / 8.0;
  // Residency falls from all to nothing around the share: replacement is no sharp threshold.
  const double in_l2 = activations / (1.0 + fourth_power(activations / activation_l2_bytes_));
  double weight_in_l2 = 0.0;
  if (weights == Weights::cycled && weight_l2_bytes_ > 0.0) {
    const double ratio = fourth_power(weight / weight_l2_bytes_);
    weight_in_l2 = weight / (1.0 + ratio * ratio);
  }
  const double near = in_l2 + weight_in_l2;
  return (activations + weight - near) * seconds_per_hbm_byte_ + near * seconds_per_l2_byte_;
}

GemmModel::Candidate GemmModel::best_candidate(const GemmShape& shape, const Tiles& tiles, double memory) const {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const double steps = ceil_of(static_cast<double>(shape.k) * per_step_);
  const double partial_sums = m * n * 8.0 * seconds_per_l2_byte_;  // 32 bits written and read back, per split
  const double split_limit = std::min(most_splits, steps / least_split_steps);
  Candidate best;
  double best_time = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Tile& tile, double count, double split) {
    const double waves = count * split * per_sm_;
    const double spread = std::max(waves, 1.0);
    const double busy = spread + parameters_.wave_quantisation * (ceil_of(waves) - spread);
    const double compute = busy * (ceil_of(steps / split) + parameters_.prologue_steps) * tile.step;
    const double extra = split > 1.0 ? split_fixed_ + split * partial_sums : 0.0;
    const double time = std::max(compute, memory) + selection_overlap * std::min(compute, memory) + extra;
    if (time < best_time) {
      best_time = time;
      best = {compute, extra};
    }
  };
  for (const Tile& tile : tiles) {
    if (m <= tile.least_m || m > tile.most_m) continue;
    const double count = ceil_of(m * tile.per_row) * ceil_of(n * tile.per_column);
    consider(tile, count, 1.0);
    const double filling = std::min(floor_of(sms_ / count), floor_of(split_limit));
    if (filling < 2.0) continue;
    consider(tile, count, filling);
    if (filling >= 4.0) consider(tile, count, ceil_of(0.5 * filling));
  }
  return best;
}

GemmModel::Seconds GemmModel::seconds(const GemmShape& shape, Weights weights) const {
  const double memory = memory_seconds(shape, weights);
  const double weight_bytes = shape.weight_bits / 8.0;
  const bool is_native = std::abs(weight_bytes - input_bytes_) < 0.125;  // scales do not count
  const Candidate best = best_candidate(shape, is_native ? tiles_ : prepare_tiles(weight_bytes), memory);
  const double overlap = overlapped(best.compute, memory, parameters_.exposure);
  return {fixed_ + best.extra, best.compute, memory, fixed_ + best.extra + overlap};
}

FamilyPrice GemmModel::price(const GemmShape& shape, Weights weights) const {
  const Seconds time = seconds(shape, weights);
  return {Duration::seconds(time.fixed), Duration::seconds(time.compute), Duration::seconds(time.memory),
          Duration::seconds(time.total)};
}

GemmParameters read_gemm_parameters(MapReader& map) {
  GemmParameters parameters;
  parameters.fixed = map.require<Duration>("fixed", non_negative);
  parameters.tensor_efficiency = map.require<double>("tensor_efficiency", positive_fraction);
  parameters.load_bytes_per_clock = map.require<double>("load_bytes_per_clock", positive);
  parameters.step_clocks = map.require<double>("step_clocks", non_negative);
  parameters.prologue_steps = map.require<double>("prologue_steps", non_negative);
  parameters.memory_efficiency = map.require<double>("memory_efficiency", positive_fraction);
  parameters.l2_bytes_per_clock = map.require<double>("l2_bytes_per_clock", positive);
  parameters.split_fixed = map.require<Duration>("split_fixed", non_negative);
  parameters.exposure = map.require<double>("exposure", fraction);
  parameters.wave_quantisation = map.require<double>("wave_quantisation", fraction);
  parameters.activation_l2_share = map.require<double>("activation_l2_share", positive);
  parameters.weight_l2_share = map.require<double>("weight_l2_share", non_negative);
  return parameters;
}

}  // namespace ridgeline
