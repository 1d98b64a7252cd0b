#include "hardware/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "hardware/calibrate_families.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

constexpr std::size_t worst_rows = 5;

constexpr std::array<CalibrationFamily, 3> families{{
    {"attention", takes_attention, calibrate_attention},
    {"gemm", takes_gemm, calibrate_gemm},
    {"moe", takes_moe, calibrate_moe},
}};

std::string joined_sources(const MeasuredRows& rows) {
  std::set<std::string> sources;
  for (const Measurement* row : rows) sources.insert(row->source);
  return fmt::format("{}", fmt::join(sources, ", "));
}

std::vector<GroupResidual> by_group(const FitProblem& problem, const std::vector<double>& log_price) {
  std::vector<GroupResidual> groups(problem.group_names.size());
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].name = problem.group_names[i];
  if (groups.empty()) return groups;
  for (std::size_t row = 0; row < log_price.size(); ++row) {
    GroupResidual& group = groups.at(problem.group[row]);
    const double error = std::expm1(log_price[row] - problem.log_measured[row]);
    ++group.rows;
    group.mape += std::abs(error);
    group.bias += error;
  }
  for (GroupResidual& group : groups) {
    const auto count = static_cast<double>(std::max<std::size_t>(group.rows, 1));
    group.mape /= count;
    group.bias /= count;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.mape > b.mape; });
  return groups;
}

std::vector<RowResidual> worst_of(const FitProblem& problem, const MeasuredRows& rows, const std::vector<double>& log_price) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto size = [&](std::size_t i) { return std::abs(log_price[i] - problem.log_measured[i]); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  order.resize(std::min(order.size(), worst_rows));
  std::vector<RowResidual> worst;
  for (const std::size_t i : order) {
    const std::string group = problem.group_names.empty() ? std::string{} : problem.group_names.at(problem.group[i]);
    worst.push_back({fmt::format("{}:{}", rows[i]->file, rows[i]->line), group, std::exp(problem.log_measured[i]),
                     std::exp(log_price[i])});
  }
  return worst;
}

/// The rows of one GPU and source. Throws ConfigError as `calibrate`.
MeasuredRows chosen_rows(const Measurements& measurements, const CalibrateOptions& options) {
  MeasuredRows chosen;
  std::set<std::string> gpus;
  for (const Measurement& row : measurements.rows) {
    if (!options.gpu.empty() && row.gpu != options.gpu) continue;
    if (!row.source.starts_with(options.source)) continue;
    gpus.insert(row.gpu);
    chosen.push_back(&row);
  }
  if (chosen.empty()) throw ConfigError("nothing to calibrate: no row matches the chosen GPU and source");
  if (gpus.size() > 1) {
    throw ConfigError(fmt::format("the measurements are of several GPUs; choose one of: {}", fmt::join(gpus, ", ")));
  }
  return chosen;
}

}  // namespace

std::span<const CalibrationFamily> calibration_families() { return families; }

const FamilyCalibration* CalibrationReport::find(std::string_view section) const {
  const auto found = std::find_if(families.begin(), families.end(), [&](const auto& family) { return family.section == section; });
  return found == families.end() ? nullptr : &*found;
}

FamilyCalibration fit_family(std::string section, const FitProblem& problem, const MeasuredRows& rows, const FitOptions& options) {
  if (rows.size() != problem.log_measured.size()) throw InternalError("fit_family: rows and problem differ");
  const FitResult result = fit(problem, options);
  const std::vector<double>& judged = result.log_price_unseen.empty() ? result.log_price : result.log_price_unseen;
  FamilyCalibration family;
  family.section = std::move(section);
  family.source = joined_sources(rows);
  family.rows = rows.size();
  family.in_sample = result.in_sample;
  family.unseen = result.cross_validated;
  family.parameters = result.parameters;
  family.groups = by_group(problem, judged);
  family.worst = worst_of(problem, rows, judged);
  return family;
}

CalibrationReport calibrate(const Measurements& measurements, const CalibrateOptions& options) {
  const MeasuredRows chosen = chosen_rows(measurements, options);
  CalibrationReport report;
  const std::string& label = chosen.front()->gpu;
  const std::string name = catalog_gpu(label);
  if (name.empty()) throw ConfigError(fmt::format("`{}` is no GPU of the catalog; add it under hardware/catalog/gpus first", label));
  report.gpu = load_gpu(name);
  report.skipped = measurements.skipped;
  std::size_t taken = 0;
  for (const CalibrationFamily& family : calibration_families()) {
    MeasuredRows rows;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(rows), [&](const Measurement* row) { return family.takes(*row); });
    taken += rows.size();
    if (!rows.empty()) family.fit(rows, report, options.fit);
  }
  if (taken < chosen.size()) report.skipped.push_back({"no family is fitted to this operator", chosen.size() - taken});
  return report;
}

std::string to_yaml(const FamilyCalibration& family) {
  const FitError& error = family.unseen.rows > 0 ? family.unseen : family.in_sample;
  std::string text = fmt::format("{}:\n  source: \"{}\"\n  rows: {}\n", family.section, family.source, family.rows);
  text += fmt::format("  error: {:.3f}  # {}; {:.3f} on the fitted rows\n", error.mape,
                      family.unseen.rows > 0 ? "whole shapes left out" : "not cross-validated", family.in_sample.mape);
  text += "  parameters:\n";
  for (const std::string& line : family.fixed_lines) text += "    " + line + "\n";
  for (const FittedParameter& parameter : family.parameters) {
    text += fmt::format("    {}: {:.4g}{}{}", parameter.name, parameter.value, parameter.unit.empty() ? "" : " ", parameter.unit);
    if (!parameter.accepted) {
      text += fmt::format("  # not fitted: {}", parameter.reason);
    } else if (parameter.high > parameter.low) {
      text += fmt::format("  # {:.3g} to {:.3g}", parameter.low, parameter.high);
    }
    text += "\n";
  }
  return text;
}

std::string to_yaml(const CalibrationReport& report) {
  std::string text = fmt::format(
      "# Fitted operator parameters of the {0}, written by `ridgeline calibrate`. Formulas in hardware/FAMILY.hpp. `error`: expected\n"
      "# MAPE on unseen shapes. Behind a parameter: its 95 % confidence interval, or why it was not fitted.\n"
      "gpu: {0}\n",
      report.gpu.name);
  for (const FamilyCalibration& family : report.families) text += to_yaml(family);
  return text;
}

}  // namespace ridgeline
