// ridgeline plan SCENARIO.yaml
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/plan/plan.hpp"
#include "scenarios/plan/plan_text.hpp"
#include "scenarios/report/html/plan_page.hpp"
#include "scenarios/study/parallel.hpp"

namespace ridgeline::cli {

namespace {

// One of the file's `alternatives:`, where it has any.
Config chosen_document(const Options& options) {
  const Config document = load_document(options.operand(), scenario_options(options));
  const std::vector<ScenarioPoint> points = expand(document);
  if (const auto sweep = document.find("sweep"); sweep && !sweep->is_null()) throw ConfigError(sweep->mistake("`plan` searches by itself; leave the sweep out"));
  const auto name = options.get("alternative");
  std::vector<std::string> names;
  for (const ScenarioPoint& point : points) {
    if (name ? point.label == *name : point.label.empty()) return point.document;
    names.push_back(point.label);
  }
  if (name) throw ConfigError("--alternative: unknown name `" + *name + "`" + suggestion(*name, names));
  throw ConfigError(document.find("alternatives")->mistake("`plan` answers for one of them: choose it with --alternative NAME"));
}

}  // namespace

int plan_command(const Arguments& arguments) {
  Options options("plan", "Answers a capacity question, as the scenario's `plan:` section asks it: the highest rate its fleet serves within the SLO\n"
                  "(max-rate), the cheapest fleet for its load (cheapest-fleet), or tokens/s/GPU against tokens/s/user (pareto). Without the\n"
                  "section: max-rate for a scenario with a `fleet:`, else cheapest-fleet.", "SCENARIO.yaml");
  declare_scenario_options(options);
  options.value("alternative", "NAME", "plan for this one of the scenario's `alternatives:`");
  options.value("jobs", "N", "threads (default: one per processor); the answer is the same for any number");
  options.value("json", "FILE", "write the answer as JSON; - for standard output, where nothing else is then printed");
  options.value("html", "FILE", "write a report page: the answer, what was tried and how it was decided, one file that opens offline");
  options.value("out", "FILE", "write the chosen scenario, ready to `run`");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  const auto jobs = static_cast<std::size_t>(options.integer("jobs", 1, 1024).value_or(static_cast<std::int64_t>(default_jobs())));
  const ProgressMode mode = progress_mode(options.get("progress"));
  const Config document = chosen_document(options);

  Outputs outputs;
  AtomicFile* json_file = outputs.open(options.get("json"));
  AtomicFile* scenario_file = outputs.open(options.get("out"));
  AtomicFile* html_file = outputs.open(options.get("html"));
  PlanResult result;
  {
    Progress progress(mode, 0, "simulations");
    result = plan(document, {.jobs = jobs, .progress = [&](std::int64_t simulations) { progress.update(simulations); }});
  }
  for (const Diagnostic& warning : result.warnings) complain("warning: " + to_string(warning) + "\n");
  if (scenario_file != nullptr && !result.chosen) throw ConfigError("--out: the plan chose no scenario; see its answer without --out");
  if (json_file != nullptr) json_file->write(dump(plan_json(result)) + "\n");
  if (scenario_file != nullptr) scenario_file->write(chosen_yaml(result));
  if (html_file != nullptr) html_file->write(html::html_page(html::plan_page(result)));
  if (!outputs.uses_standard_output()) print(plan_text(result));
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
