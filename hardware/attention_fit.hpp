// How the attention models plug into the fit (fit.hpp): parameters with bounds, rows grouped by head configuration.
#pragma once

#include <span>
#include <vector>

#include "hardware/attention.hpp"
#include "hardware/fit.hpp"

namespace ridgeline {

/// One measured call. `shape.chunks` is ignored: the call's chunks are `chunks`.
struct AttentionMeasurement {
  AttentionShape shape;
  std::vector<PrefillChunk> chunks;
  double time_us = 0.0;
};

/// The fit of `kernel`'s decode parameters to calls without chunks. `gpu` must outlive the problem.
FitProblem attention_decode_problem(const GpuSpec& gpu, AttentionKernel kernel, std::vector<AttentionMeasurement> rows);
/// Parameters from the values of that problem.
AttentionDecodeParameters attention_decode_parameters(AttentionKernel kernel, std::span<const double> values);

/// The fit of `kernel`'s prefill parameters to calls with chunks, decodes beside them or not. `gpu` must outlive the problem.
FitProblem attention_prefill_problem(const GpuSpec& gpu, AttentionKernel kernel, std::vector<AttentionMeasurement> rows);
AttentionPrefillParameters attention_prefill_parameters(AttentionKernel kernel, std::span<const double> values);

}  // namespace ridgeline
