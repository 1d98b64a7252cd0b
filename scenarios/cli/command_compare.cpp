// ridgeline compare A.yaml B.yaml ...
#include <fmt/format.h>

#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/resolve_all.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/run_table.hpp"
#include "scenarios/report/version.hpp"

namespace ridgeline::cli {

namespace {

// Every scenario that the files describe, labelled so that no two columns share a name.
std::vector<ScenarioPoint> all_points(const Options& options) {
  std::vector<ScenarioPoint> all;
  for (const std::string& file : options.operands()) {
    for (ScenarioPoint point : expand(load_document(file, scenario_options(options)))) {
      const std::string stem = std::filesystem::path(file).stem().string();
      if (point.label.empty()) point.label = stem;
      else if (options.operands().size() > 1) point.label = stem + " " + point.label;
      all.push_back(std::move(point));
    }
  }
  return all;
}

}  // namespace

int compare_command(const Arguments& arguments) {
  Options options("compare", "Runs several scenarios (and the alternatives they describe) and sets the results side by side. Equal workloads and seeds\n"
                  "mean identical requests, so differences come from the fleets.", "A.yaml B.yaml...");
  declare_scenario_options(options);
  options.value("json", "FILE", "write all results as JSON; - for standard output");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  if (options.operands().empty()) throw ConfigError("ridgeline compare: expected scenarios; see `ridgeline compare --help`");
  const ProgressMode mode = progress_mode(options.get("progress"));
  std::vector<LabelledScenario> scenarios = resolve_all(all_points(options));
  if (scenarios.size() < 2) throw ConfigError("ridgeline compare: only one scenario to compare; give another, or a file with `alternatives:`");

  Outputs outputs;
  AtomicFile* json_file = outputs.open(options.get("json"));
  std::vector<Compared> results;
  Progress progress(mode, static_cast<std::int64_t>(scenarios.size()), "scenarios");
  for (LabelledScenario& labelled : scenarios) {
    RunResult result = run(labelled.scenario);
    complain(warning_lines(labelled.scenario, result));
    results.push_back({labelled.label, std::move(labelled.scenario), std::move(result)});
    progress.update(static_cast<std::int64_t>(results.size()));
  }
  if (json_file != nullptr) {
    nlohmann::ordered_json json;
    json["version"] = version();
    json["scenarios"] = nlohmann::ordered_json::array();
    for (const Compared& one : results) {
      nlohmann::ordered_json entry = run_json(one.scenario, one.result);
      entry["label"] = one.label;
      json["scenarios"].push_back(std::move(entry));
    }
    json_file->write(dump(json) + "\n");
  }
  if (!outputs.uses_standard_output()) print(comparison_table(results));
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
