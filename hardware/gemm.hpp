// Matrix products of linear layers: D[m,n] = A[m,k] * W[n,k]^T, m = tokens.
//
// A kernel covers D with tiles of tm x tn; each SM walks along k in steps of 128 bytes. Per tile and split-K factor s:
//
//   step    = 4-norm of 2 tm tn ks / (peak per SM * tensor_efficiency), (tm + tn) * 128 B / load rate
//             and the latency of a step
//   tiles   = ceil(m / tm) * ceil(n / tn) * s;  waves = tiles / SMs, rounded up as far as `wave_quantisation` says, >= 1
//   compute = waves * (ceil(k / ks / s) + prologue_steps) * step
//   memory  = bytes from HBM / (bandwidth * memory_efficiency) + bytes from L2 / L2 rate
//   t       = fixed + overlapped(compute, memory; exposure) + (s > 1: split_fixed + partial sums through L2)
//
// and the library picks the best of the tiles that suit m and of a few s that fill the SMs. Activations stay in the L2 while A and D fit in
// `activation_l2_share` of it. Weights do not: between two uses of a layer's weights the whole model has passed
// (`Weights::streamed`). Measurement campaigns that cycle through a few copies of one weight do see the L2
// (`Weights::cycled`: aiconfigurator uses six copies), which validation has to take into account.
//
// Valid for m 1 to 32,768, n and k 128 to 65,536. Fitted per GPU and kernel library; see hardware/catalog/calibrations.
// Weight-only quantisation (16-bit tensor cores, narrower stored weights: AWQ and GPTQ through Marlin) has no measurements
// here: it is priced as the 16-bit kernel with the stored bytes read, which is what the Marlin paper (Frantar et al. 2024)
// reaches up to m = 32; beyond m = 256 real kernels lose some 10 to 20 % to unpacking, which is not modelled.
#pragma once

#include <array>
#include <cstdint>

#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

class MapReader;

struct GemmParameters {
  Duration fixed;                     ///< launch in a CUDA graph, set-up, drain
  double tensor_efficiency = 1.0;     ///< reached share of the datasheet peak inside a tile
  double load_bytes_per_clock = 0.0;  ///< of one SM, L2 to shared memory
  double step_clocks = 0.0;           ///< latency of one step along k
  double prologue_steps = 0.0;        ///< steps to fill and drain the pipeline of one tile
  double memory_efficiency = 1.0;     ///< reached share of the datasheet HBM bandwidth
  double l2_bytes_per_clock = 0.0;    ///< per SM, tensors that stay in the L2
  Duration split_fixed;               ///< the reduction after a split along k
  double exposure = 0.0;              ///< of compute and memory to each other, see hardware/overlap.hpp
  double wave_quantisation = 0.0;     ///< 1: a tail wave costs a whole one; 0: persistent kernels spread it
  double activation_l2_share = 0.0;   ///< of the L2, kept by inputs and outputs
  double weight_l2_share = 0.0;       ///< of the L2, below which one of the cycled weight copies stays in it
};

enum class Weights : std::uint8_t { streamed, cycled };

/// GEMM on one GPU in one kernel family. Immutable; `price` costs well under 100 ns.
class GemmModel {
 public:
  /// `math` is the type the tensor cores multiply in. Throws InternalError when `gpu` has no peak for it.
  GemmModel(const GpuSpec& gpu, DType math, const GemmParameters& parameters);

  [[nodiscard]] FamilyPrice price(const GemmShape& shape, Weights weights = Weights::streamed) const;

  /// The same in seconds, for fitting.
  struct Seconds {
    double fixed = 0.0;
    double compute = 0.0;
    double memory = 0.0;
    double total = 0.0;
  };
  [[nodiscard]] Seconds seconds(const GemmShape& shape, Weights weights) const;

 private:
  struct Candidate {
    double compute = 0.0;
    double extra = 0.0;  // of the split
  };
  static constexpr std::size_t tile_count = 8;
  /// One tile shape, prepared per GPU.
  struct Tile {
    double per_row = 0.0;     ///< 1 / rows
    double per_column = 0.0;  ///< 1 / columns
    double step = 0.0;        ///< seconds of one step along k
    double least_m = 0.0;     ///< below and above these no library chooses the tile
    double most_m = 0.0;
  };
  using Tiles = std::array<Tile, tile_count>;
  [[nodiscard]] Tiles prepare_tiles(double weight_bytes) const;
  [[nodiscard]] Candidate best_candidate(const GemmShape& shape, const Tiles& tiles, double memory) const;
  [[nodiscard]] double memory_seconds(const GemmShape& shape, Weights weights) const;

  GemmParameters parameters_;
  double sms_ = 0.0;
  double fixed_ = 0.0;
  double split_fixed_ = 0.0;
  double input_bytes_ = 2.0;       // of one element of A
  double step_elements_ = 64.0;    // along k
  double per_step_ = 0.0;          // 1 / step_elements_
  double per_sm_ = 0.0;
  double seconds_per_flop_ = 0.0;  // of one SM
  double seconds_per_load_ = 0.0;  // per byte, of one SM
  double step_latency_ = 0.0;
  Tiles tiles_{};                  // for weights as wide as the inputs
  double seconds_per_hbm_byte_ = 0.0;
  double seconds_per_l2_byte_ = 0.0;
  double activation_l2_bytes_ = 0.0;
  double weight_l2_bytes_ = 0.0;
};

/// Keys as the members of GemmParameters; times with their unit.
GemmParameters read_gemm_parameters(MapReader& map);

}  // namespace ridgeline
