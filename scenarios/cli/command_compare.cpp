// ridgeline compare A.yaml B.yaml ...
#include <fmt/format.h>

#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/load/resolve_all.hpp"
#include "scenarios/report/comparison_report.hpp"
#include "scenarios/report/html/comparison_page.hpp"
#include "scenarios/report/run_table.hpp"
#include "scenarios/study/comparison.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/sweep/skip_rules.hpp"

namespace ridgeline::cli {

namespace {

// Every scenario that the files describe, labelled so that no two share a name.
std::vector<ScenarioPoint> all_points(const Options& options) {
  std::vector<ScenarioPoint> all;
  for (const std::string& file : options.operands()) {
    for (ScenarioPoint point : expand_unskipped(load_document(file, scenario_options(options)))) {
      const std::string stem = std::filesystem::path(file).stem().string();
      if (point.label.empty()) point.label = stem;
      else if (options.operands().size() > 1) point.label = stem + " " + point.label;
      all.push_back(std::move(point));
    }
  }
  return all;
}

std::vector<StudiedScenario> scenarios_of(const Options& options) {
  const std::vector<ScenarioPoint> points = all_points(options);
  std::vector<LabelledScenario> resolved = resolve_all(points);
  std::vector<StudiedScenario> scenarios;
  for (std::size_t i = 0; i < points.size(); ++i) {
    scenarios.push_back({.label = resolved[i].label, .document = points[i].document, .scenario = std::move(resolved[i].scenario)});
  }
  return scenarios;
}

ComparisonOptions comparison_options(const Options& options) {
  ComparisonOptions comparison;
  if (const auto metric = options.get("metric")) comparison.metric = *metric;
  if (const auto target = options.get("target")) comparison.target = parse_target(*target, "--target");
  comparison.least_replications = static_cast<std::size_t>(options.integer("replications", 2, 10'000).value_or(5));
  const auto most = options.integer("max-replications", 2, 10'000);
  comparison.most_replications = most ? static_cast<std::size_t>(*most) : std::max<std::size_t>(30, comparison.least_replications);
  if (comparison.most_replications < comparison.least_replications) {
    throw ConfigError(fmt::format("--max-replications {} is below --replications {}", comparison.most_replications, comparison.least_replications));
  }
  comparison.jobs = static_cast<std::size_t>(options.integer("jobs", 1, 1024).value_or(static_cast<std::int64_t>(default_jobs())));
  comparison.attribution = !options.has("no-attribution");
  return comparison;
}

}  // namespace

int compare_command(const Arguments& arguments) {
  Options options("compare",
                  "Runs scenarios, and the alternatives they describe, under several seeds and sets each beside the first: every figure, its\n"
                  "difference and the 95 % interval of that. Equal workloads meet the same requests under each seed, so differences come from\n"
                  "the fleets. Then every key that differs is changed alone, to show what moved what.",
                  "A.yaml B.yaml...");
  declare_scenario_options(options);
  options.value("metric", "NAME", "the figure whose difference must be known well (default mean_e2el_ms)");
  options.value("target", "WIDTH", "how well: half-width of its interval, in its unit, or a share of the first scenario's mean (default 5%)");
  options.value("replications", "N", "seeds to begin with (default 5)");
  options.value("max-replications", "N", "stop here, target met or not (default 30)");
  options.flag("no-attribution", "leave out what each changed key does alone");
  options.value("jobs", "N", "threads (default: one per processor); the result is the same for any number");
  options.value("json", "FILE", "write everything as JSON; - for standard output");
  options.value("html", "FILE", "write a report page: differences with their intervals, and what moved them; one file that opens offline");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  if (options.operands().empty()) throw ConfigError("ridgeline compare: expected scenarios; see `ridgeline compare --help`");
  const ProgressMode mode = progress_mode(options.get("progress"));
  ComparisonOptions comparing = comparison_options(options);
  std::vector<StudiedScenario> scenarios = scenarios_of(options);
  if (scenarios.size() < 2) throw ConfigError("ridgeline compare: only one scenario to compare; give another, or a file with `alternatives:`");

  Outputs outputs;
  AtomicFile* json_file = outputs.open(options.get("json"));
  AtomicFile* html_file = outputs.open(options.get("html"));
  Progress progress(mode, 0, "runs");
  comparing.progress = [&](std::size_t done, std::size_t planned) { progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(planned)); };
  const Comparison comparison = compare(std::move(scenarios), comparing);
  for (const StudiedScenario& side : comparison.scenarios) complain(warning_lines(side.scenario, side.runs.front()));
  if (json_file != nullptr) json_file->write(dump(comparison_json(comparison)) + "\n");
  if (html_file != nullptr) html_file->write(html::html_page(html::comparison_page(comparison)));
  if (!outputs.uses_standard_output()) print(comparison_text(comparison));
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
