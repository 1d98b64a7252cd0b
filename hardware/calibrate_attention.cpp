// Attention: decode by width of the KV cache, and prefill with the batches that mix both.
#include <string>
#include <utility>

#include "hardware/attention_fit.hpp"
#include "hardware/calibrate_families.hpp"

namespace ridgeline {
namespace {

/// Which section of the calibration a call belongs to.
std::string section_of(const AttentionShape& shape) {
  if (!shape.chunks.empty()) return "attention_prefill";
  return shape.kv_bits < 16.0 ? "attention_decode_kv8" : "attention_decode";
}

std::vector<AttentionMeasurement> measured(const MeasuredRows& rows) {
  std::vector<AttentionMeasurement> calls;
  for (const Measurement* row : rows) {
    const auto& shape = std::get<AttentionShape>(row->work.shape);
    calls.push_back({shape, {shape.chunks.begin(), shape.chunks.end()}, row->time.microseconds()});
  }
  return calls;
}

void fit_section(const std::string& section, const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options) {
  const bool prefill = section == "attention_prefill";
  const double kv_bits = section == "attention_decode_kv8" ? 8.0 : 16.0;
  AttentionKernel kernel = engine_kernel(report.gpu, kv_bits);
  if (!prefill && rows.front()->source == "infersim") kernel = AttentionKernel::flashinfer;  // what InferSim timed
  const FitProblem problem = prefill ? attention_prefill_problem(report.gpu, kernel, measured(rows))
                                     : attention_decode_problem(report.gpu, kernel, measured(rows));
  FamilyCalibration family = fit_family(section, problem, rows, options);
  family.fixed_lines.push_back("kernel: " + std::string(traits(kernel).name));
  if (prefill && !traits(kernel).splits_swapped_only) family.fixed_lines.emplace_back("idle_tile: 0 us");
  report.families.push_back(std::move(family));
}

}  // namespace

bool takes_attention(const Measurement& row) {
  const auto* shape = std::get_if<AttentionShape>(&row.work.shape);
  if (shape == nullptr) return false;
  const bool latent = shape->value_dim > 0 && shape->value_dim != shape->head_dim;  // priced by the same formulas, not fitted
  return !latent && format_suffix(row.dtype) == "";
}

void calibrate_attention(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options) {
  for (const std::string section : {"attention_decode", "attention_decode_kv8", "attention_prefill"}) {
    MeasuredRows chosen;
    for (const Measurement* row : rows) {
      if (section_of(std::get<AttentionShape>(row->work.shape)) == section) chosen.push_back(row);
    }
    if (!chosen.empty()) fit_section(section, chosen, report, options);
  }
}

}  // namespace ridgeline
