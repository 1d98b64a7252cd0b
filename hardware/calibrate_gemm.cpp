// Matrix products, one section per number format, and the activation quantisation measured with them.
#include <array>
#include <string>

#include "hardware/calibrate_families.hpp"
#include "hardware/gemm_fit.hpp"

namespace ridgeline {
namespace {

// The 16-bit format first: it lends its fixed time to the others.
constexpr std::array<std::string_view, 5> suffixes{"", "_2023", "_fp8", "_fp8_block", "_fp4"};

std::optional<Duration> fixed_time_of(const FamilyCalibration* product) {
  if (product == nullptr) return std::nullopt;
  return Duration::seconds(product->parameters.front().value * 1e-6);
}

/// Splits the parameters of the quantisation, named quantise_NAME, off into a section of their own.
FamilyCalibration split_off_quantisation(FamilyCalibration& both, const std::string& suffix) {
  constexpr std::string_view prefix = "quantise_";
  FamilyCalibration quantisation = both;
  quantisation.section = "quantise_input" + suffix;
  const auto first = both.parameters.begin() + gemm_parameter_count;
  quantisation.parameters.assign(first, both.parameters.end());
  both.parameters.erase(first, both.parameters.end());
  for (FittedParameter& parameter : quantisation.parameters) parameter.name.erase(0, prefix.size());
  return quantisation;
}

void fit_format(const MeasuredRows& rows, const std::string& suffix, CalibrationReport& report, const FitOptions& options) {
  std::vector<GemmMeasurement> measured;
  MeasuredRows used;
  bool quantises = false;
  for (const Measurement* row : rows) quantises = quantises || std::get<GemmShape>(row->work.shape).quantises_input;
  for (const Measurement* row : rows) {
    const auto& shape = std::get<GemmShape>(row->work.shape);
    if (shape.quantises_input != quantises) continue;  // the products alone of a format that is mostly measured with both
    measured.push_back({shape, row->conditions.weights, row->time.microseconds()});
    used.push_back(row);
  }
  if (used.size() < rows.size()) {
    report.skipped.push_back({"gemm" + suffix + ": rows without activation quantisation beside rows with it", rows.size() - used.size()});
  }
  std::optional<Duration> fixed;
  if (quantises) fixed = fixed_time_of(report.find("gemm"));
  const FitProblem problem = gemm_problem(report.gpu, std::move(measured), fixed);
  FamilyCalibration family = fit_family("gemm" + suffix, problem, used, options);
  if (!quantises) {
    report.families.push_back(std::move(family));
    return;
  }
  FamilyCalibration quantisation = split_off_quantisation(family, suffix);
  report.families.push_back(std::move(family));
  report.families.push_back(std::move(quantisation));
}

}  // namespace

std::optional<std::string> format_suffix(const std::string& dtype) {
  if (dtype == "bf16" || dtype == "fp16") return "";
  if (dtype == "fp8") return "_fp8";
  if (dtype == "fp8_block") return "_fp8_block";
  if (dtype == "nvfp4") return "_fp4";
  return std::nullopt;
}

bool takes_gemm(const Measurement& row) {
  return std::holds_alternative<GemmShape>(row.work.shape) && format_suffix(row.dtype).has_value();
}

void calibrate_gemm(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options) {
  for (const std::string_view suffix : suffixes) {
    MeasuredRows format;
    for (const Measurement* row : rows) {
      const std::string own = row->conditions.unfused ? "_2023" : *format_suffix(row->dtype);
      if (own == suffix) format.push_back(row);
    }
    if (!format.empty()) fit_format(format, std::string(suffix), report, options);
  }
}

}  // namespace ridgeline
