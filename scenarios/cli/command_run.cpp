// ridgeline run SCENARIO.yaml
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/build/run.hpp"
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/explain/uncertainty.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/resolve_all.hpp"
#include "scenarios/report/chrome_trace.hpp"
#include "scenarios/report/html/run_page.hpp"
#include "scenarios/report/request_log.hpp"
#include "scenarios/report/run_explanation_report.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/run_table.hpp"
#include "scenarios/report/step_log.hpp"
#include "scenarios/report/version.hpp"
#include "scenarios/study/parallel.hpp"
#include "workloads/survey.hpp"

namespace ridgeline::cli {

namespace {

std::vector<std::string> pool_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Pool& pool : scenario.fleet) names.push_back(pool.name);
  return names;
}

// The files of one run beside its JSON.
struct Logs {
  AtomicFile* steps = nullptr;
  AtomicFile* requests = nullptr;
  AtomicFile* trace = nullptr;
  html::RunRecord* record = nullptr;
};

RunResult run_logged(const Scenario& scenario, const Logs& logs, bool exact_steps, ProgressMode mode) {
  RunOptions options;
  options.exact_steps = exact_steps;
  std::optional<StepLog> step_log;
  std::optional<RequestLog> request_log;
  std::optional<ChromeTrace> chrome_trace;
  if (logs.steps != nullptr) options.observers.push_back(&step_log.emplace(*logs.steps));
  if (logs.requests != nullptr) options.observers.push_back(&request_log.emplace(*logs.requests, pool_names(scenario)));
  if (logs.trace != nullptr) options.observers.push_back(&chrome_trace.emplace(*logs.trace, pool_names(scenario)));
  if (logs.record != nullptr) options.observers.push_back(logs.record);
  options.log_steps = step_log.has_value();
  Progress progress(mode, scenario.workload.num_prompts.value_or(0), "requests finished");
  options.progress = [&](std::int64_t finished) { progress.update(finished); };
  RunResult result = run(scenario, options);
  if (chrome_trace) chrome_trace->end();
  return result;
}

std::vector<ScenarioPoint> chosen_points(const Options& options) {
  const Config document = load_document(options.operand(), scenario_options(options));
  std::vector<ScenarioPoint> points = expand(document);
  if (const auto sweep = document.find("sweep"); sweep && !sweep->is_null()) {
    throw ConfigError(sweep->mistake(fmt::format("describes {} points; use `ridgeline sweep {}`", points.size(), options.operand())));
  }
  const auto name = options.get("alternative");
  if (!name) return points;
  std::vector<std::string> names;
  for (const ScenarioPoint& point : points) {
    if (point.label == *name) return {point};
    if (!point.label.empty()) names.push_back(point.label);
  }
  if (names.empty()) throw ConfigError("--alternative: the scenario has no `alternatives:`");
  throw ConfigError("--alternative: unknown name `" + *name + "`" + suggestion(*name, names));
}

// Null unless asked for.
std::optional<Uncertainty> doubts_about(const Scenario& scenario, const RunResult& result, const Options& options) {
  const auto jobs = options.integer("jobs", 1, 1024);
  const auto draws = options.integer("uncertainty", 1, 10'000);
  if (jobs && !draws) throw ConfigError("--jobs: a single run has one thread; only --uncertainty uses more");
  if (!draws) return std::nullopt;
  return uncertainty(scenario, result, static_cast<std::size_t>(*draws), jobs ? static_cast<std::size_t>(*jobs) : default_jobs());
}

nlohmann::ordered_json result_json(const Compared& one, const std::optional<Uncertainty>& doubts) {
  nlohmann::ordered_json json = run_json(one.scenario, one.result);
  if (doubts) json["uncertainty"] = uncertainty_json(*doubts);
  return json;
}

}  // namespace

int run_command(const Arguments& arguments) {
  Options options("run", "Simulates a scenario and prints what came of it. With `alternatives:` in the file, all of them, side by side.",
                  "SCENARIO.yaml");
  declare_scenario_options(options);
  options.value("alternative", "NAME", "run only this one of the scenario's `alternatives:`");
  options.value("json", "FILE", "write the result as JSON; - for standard output, where nothing else is then printed");
  options.value("requests", "FILE", "write one CSV row per request");
  options.value("step-log", "FILE", "write one CSV row per step and request");
  options.value("trace", "FILE", "write a timeline for ui.perfetto.dev");
  options.value("html", "FILE", "write a report page with charts, one file that opens offline");
  options.flag("exact-steps", "reference mode: every step by itself, every request and KV block walked; slow, the same results");
  options.value("uncertainty", "N", "run N times more with the operators' prices off by their expected errors, and give intervals");
  options.value("jobs", "N", "threads for --uncertainty (default: one per processor); the result is the same for any number");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  const ProgressMode mode = progress_mode(options.get("progress"));

  std::vector<LabelledScenario> scenarios = resolve_all(chosen_points(options));
  const bool several = scenarios.size() > 1;
  if (several && (options.has("step-log") || options.has("requests") || options.has("trace"))) {
    throw ConfigError("--step-log, --requests and --trace write one run; choose it with --alternative NAME");
  }
  Outputs outputs;
  AtomicFile* json_file = outputs.open(options.get("json"));
  Logs logs{outputs.open(options.get("step-log")), outputs.open(options.get("requests")), outputs.open(options.get("trace"))};
  AtomicFile* html_file = outputs.open(options.get("html"));

  std::vector<Compared> results;
  std::vector<std::shared_ptr<html::RunRecord>> records;
  std::vector<std::optional<Uncertainty>> doubts;
  for (LabelledScenario& labelled : scenarios) {
    if (html_file != nullptr) logs.record = records.emplace_back(std::make_shared<html::RunRecord>(labelled.scenario)).get();
    const std::vector<std::string> told = survey(labelled.scenario.workload);
    complain(warning_lines(labelled.scenario) + warning_lines(told));
    RunResult result = run_logged(labelled.scenario, logs, options.has("exact-steps"), mode);
    complain(warning_lines(result.workload.warnings, told));
    doubts.push_back(doubts_about(labelled.scenario, result, options));
    results.push_back({labelled.label, std::move(labelled.scenario), std::move(result)});
  }
  if (json_file != nullptr) {
    nlohmann::ordered_json json;
    if (several) {
      json["version"] = version();
      for (std::size_t i = 0; i < results.size(); ++i) json["alternatives"][results[i].label] = result_json(results[i], doubts[i]);
    } else {
      json = result_json(results.front(), doubts.front());
    }
    json_file->write(dump(json) + "\n");
  }
  if (html_file != nullptr) {
    std::vector<html::RecordedRun> runs;
    for (std::size_t i = 0; i < results.size(); ++i) runs.push_back({results[i].label, &results[i].scenario, &results[i].result, records[i]});
    html_file->write(html::html_page(html::run_page(runs)));
  }
  if (!outputs.uses_standard_output()) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Compared& one = results[i];
      print((several ? one.label + ": " : "") + run_table(one.scenario, one.result) + (doubts[i] ? uncertainty_text(*doubts[i]) : "") +
            (several ? "\n" : ""));
    }
    if (several) print(comparison_table(results));
  }
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
