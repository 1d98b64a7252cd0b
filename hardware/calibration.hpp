// Every operator family's parameters for one GPU, where each came from, and how wrong it may be.
//
// hardware/catalog/calibrations/GPU.yaml holds what was fitted on measurements of that GPU, one section per family with keys
// source, rows, error (expected MAPE on unseen shapes) and parameters. A family missing there is taken from
// a relative: a GPU of the same architecture, then of a related one (for collectives: with the same link). Parameters are
// efficiencies, clocks and latencies, so the relative's carry over to this GPU's peaks, bandwidth and SM count. A family that
// no relative has is priced by the roofline with usual efficiencies.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hardware/attention.hpp"
#include "hardware/collective.hpp"
#include "hardware/elementwise.hpp"
#include "hardware/gemm.hpp"
#include "hardware/gpu.hpp"
#include "hardware/moe.hpp"
#include "hardware/quantise_input.hpp"
#include "sim/cost/price.hpp"

namespace ridgeline {

class Config;

/// One family's parameters.
template <class Parameters>
struct Calibrated {
  Parameters parameters{};
  Provenance provenance = Provenance::datasheet;
  std::string gpu;     ///< whose measurements
  std::string source;  ///< campaign and kernels
  double error = 0.0;  ///< expected mean absolute relative error on shapes that were not fitted
};

/// One member per section of the YAML, by the same name.
struct Calibration {
  std::string gpu;
  std::optional<Calibrated<GemmParameters>> gemm;  ///< 16-bit tensor cores
  std::optional<Calibrated<GemmParameters>> gemm_2023;  ///< 16 bits, board and cuBLAS of vidur's profile; for validation only
  std::optional<Calibrated<GemmParameters>> gemm_fp8;
  std::optional<Calibrated<GemmParameters>> gemm_fp8_block;  ///< block-scaled (GemmShape::block_scaled)
  std::optional<Calibrated<GemmParameters>> gemm_fp4;
  std::optional<Calibrated<QuantiseInputParameters>> quantise_input_fp8;
  std::optional<Calibrated<QuantiseInputParameters>> quantise_input_fp8_block;
  std::optional<Calibrated<QuantiseInputParameters>> quantise_input_fp4;
  std::optional<Calibrated<MoeParameters>> moe;
  std::optional<Calibrated<MoeParameters>> moe_fp8;
  std::optional<Calibrated<MoeParameters>> moe_fp8_block;
  std::optional<Calibrated<MoeParameters>> moe_fp4;
  std::optional<Calibrated<AttentionDecodeParameters>> attention_decode;
  std::optional<Calibrated<AttentionDecodeParameters>> attention_decode_kv8;
  std::optional<Calibrated<AttentionPrefillParameters>> attention_prefill;
  std::optional<Calibrated<ElementwiseParameters>> elementwise;          ///< fused kernels, as engines run them
  std::optional<Calibrated<ElementwiseParameters>> elementwise_unfused;  ///< kernels of 2023, for validation only
  std::optional<Calibrated<CollectiveParameters>> collective;
};

/// Expected error where a family has neither measurements nor relatives: what the pure roofline misses by on measured GPUs.
inline constexpr double datasheet_error = 0.45;

/// The best parameters the catalog has for `gpu`.
Calibration load_calibration(const GpuSpec& gpu);

/// As load_calibration, with the families of the user's file put in front. Throws ConfigError with every mistake.
Calibration load_calibration(const GpuSpec& gpu, const std::string& path);

/// No parameters at all: everything is priced by the roofline.
Calibration datasheet_calibration(const GpuSpec& gpu);

/// GPUs with a calibration file, sorted.
std::vector<std::string> calibration_names();

}  // namespace ridgeline
