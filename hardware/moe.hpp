// The routed-expert layer of one rank as engines run it: grouped gate+up product, activation, grouped down product, weighted
// sum. Several kernels, priced as one operator; communication between ranks is not part of it.
//
//   product = overlapped(compute, memory; exposure), twice: n = 2 * intermediate (ungated: intermediate), k = hidden, then
//             n = hidden, k = intermediate
//   compute = waves * (ceil(k / ks) + prologue_steps) * step, as in hardware/gemm.hpp, best of `moe_tiles`; tiles are counted
//             expert by expert (ExpertLoad::row_blocks), nothing is split along k
//   memory  = weights of the active experts / (bandwidth * memory_efficiency)
//   rows    = row_traffic * ideal traffic of the rows (in, between, out) / bandwidth. Rows whose expert lives on another rank
//             count by `rows_elsewhere`: kernels that skip only their products still activate and sum them
//   t       = fixed + products + rows
//
// Valid for 1 to 16,384 tokens, 8 to 512 experts, hidden 2048 to 7168. Fitted per GPU and number format.
#pragma once

#include <array>

#include "hardware/expert_load.hpp"
#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

class MapReader;

struct MoeParameters {
  Duration fixed;                     ///< launches, sorting of tokens by expert
  double tensor_efficiency = 1.0;     ///< reached share of the datasheet peak inside a tile
  double load_bytes_per_clock = 0.0;  ///< of one SM, L2 to shared memory
  double step_clocks = 0.0;           ///< latency of one step along k
  double prologue_steps = 0.0;        ///< steps to fill and drain the pipeline of one tile
  double memory_efficiency = 1.0;     ///< reached share of the datasheet HBM bandwidth while reading weights
  double exposure = 0.0;              ///< of compute and memory to each other, see hardware/overlap.hpp
  double wave_quantisation = 0.0;     ///< 1: a tail wave costs a whole one
  double row_traffic = 1.0;           ///< bytes moved for the rows over the ideal, at datasheet bandwidth
  double rows_elsewhere = 0.0;        ///< 0: rows of other ranks cost nothing; 1: all but their products
};

class MoeModel {
 public:
  /// Throws InternalError when `gpu` has no peak for `math`.
  MoeModel(const GpuSpec& gpu, DType math, const MoeParameters& parameters);

  [[nodiscard]] FamilyPrice price(const MoeShape& shape) const;

  /// The same in seconds, for fitting.
  struct Seconds {
    double fixed = 0.0;
    double compute = 0.0;
    double memory = 0.0;
    double total = 0.0;
  };
  [[nodiscard]] Seconds seconds(const MoeShape& shape) const;

 private:
  static constexpr std::size_t tile_count = 6;
  /// Seconds of one step along k, by tile.
  using Steps = std::array<double, tile_count>;
  [[nodiscard]] Steps prepare_steps(double weight_bytes) const;
  [[nodiscard]] double product_compute(const ExpertLoad& load, double n, double k, const Steps& steps) const;

  MoeParameters parameters_;
  double sms_ = 0.0;
  double per_sm_ = 0.0;
  double input_bytes_ = 2.0;
  double step_elements_ = 64.0;
  double seconds_per_flop_ = 0.0;  // of one SM
  double seconds_per_load_ = 0.0;  // per byte, of one SM
  double step_latency_ = 0.0;
  Steps steps_{};  // for weights as wide as the inputs
  double seconds_per_weight_byte_ = 0.0;
  double seconds_per_row_byte_ = 0.0;
};

/// Keys as the members of MoeParameters; times with their unit.
MoeParameters read_moe_parameters(MapReader& map);

}  // namespace ridgeline
