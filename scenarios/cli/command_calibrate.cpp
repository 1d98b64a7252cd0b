// ridgeline calibrate MEASUREMENTS.csv... --out FILE.yaml
#include <fmt/format.h>

#include "hardware/calibrate.hpp"
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline::cli {

namespace {

std::string family_text(const FamilyCalibration& family) {
  std::string text = fmt::format("\n{}: {} rows of {}; error {} on the rows fitted, {} on unseen shapes (p90 {})\n", family.section,
                                 grouped(static_cast<std::int64_t>(family.rows)), family.source, percent(family.in_sample.mape),
                                 percent(family.unseen.mape), percent(family.unseen.p90));
  TextTable parameters;
  parameters.add({"parameter", "value", "95 % interval", ""});
  for (const FittedParameter& p : family.parameters) {
    parameters.add({p.name, fmt::format("{:.4g} {}", p.value, p.unit), fmt::format("{:.4g} to {:.4g}", p.low, p.high),
                    p.accepted ? p.reason : "refused: " + p.reason});
  }
  text += parameters.text("  ");
  TextTable residuals;
  residuals.add({"worst shapes", "rows", "MAPE", "bias"});
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(shown, family.groups.size()); ++i) {
    const GroupResidual& group = family.groups[i];
    residuals.add({group.name, grouped(static_cast<std::int64_t>(group.rows)), percent(group.mape), percent(group.bias)});
  }
  return text + residuals.text("  ");
}

}  // namespace

int calibrate_command(const Arguments& arguments) {
  Options options("calibrate", "Fits the operator prices of one GPU to measurements, cross-validated by whole shapes.", "MEASUREMENTS.csv...");
  options.value("out", "FILE", "calibration file to write; - for standard output");
  options.value("gpu", "LABEL", "use the rows of this GPU, as the CSV writes it");
  options.value("source", "PREFIX", "use rows whose source begins like this");
  if (!options.parse(arguments)) return 0;
  if (options.operands().empty()) throw ConfigError("ridgeline calibrate: expected CSV files of measurements");
  if (!options.has("out")) throw ConfigError("ridgeline calibrate: --out FILE.yaml is missing");

  Outputs outputs;
  AtomicFile* out = outputs.open(options.get("out"));
  Measurements measurements;
  for (const std::string& file : options.operands()) read_measurements(file, measurements);
  const CalibrationReport report =
      calibrate(measurements, {.gpu = options.get("gpu").value_or(""), .source = options.get("source").value_or(""), .fit = {}});
  out->write(to_yaml(report));
  if (!outputs.uses_standard_output()) {
    std::string text = "calibration of " + report.gpu.name + "\n";
    for (const FamilyCalibration& family : report.families) text += family_text(family);
    for (const SkippedRows& skipped : report.skipped) {
      text += fmt::format("  {} rows not used: {}\n", grouped(static_cast<std::int64_t>(skipped.rows)), skipped.reason);
    }
    print(text);
  }
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
