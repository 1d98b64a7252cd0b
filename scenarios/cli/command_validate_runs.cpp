// ridgeline validate serving FILE.csv... and ridgeline validate requests LOG.csv... --scenario FILE.yaml
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/cli/validate_runs.hpp"
#include "scenarios/report/text.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/validate/requests.hpp"
#include "scenarios/validate/serving.hpp"
#include "scenarios/validate/serving_names.hpp"

namespace ridgeline::cli {

namespace {

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", share * 100.0); }

std::string summary_text(const FigureValidation& validation) {
  TextTable table;
  table.add({"gpu", "kind", "metric", "figures", "median", "p90", "bias"});
  for (const FigureGroup& group : summarise_figures(validation.figures)) {
    table.add({group.gpu, group.kind, group.metric, grouped(static_cast<std::int64_t>(group.rows)), percent(group.median), percent(group.p90),
               signed_percent(group.bias)});
  }
  return table.text();
}

std::string groups_text(const FigureValidation& validation) {
  TextTable table;
  table.add({"gpu", "engine", "model", "tp", "metric", "figures", "median", "p90", "bias"});
  for (const FigureGroup& group : group_figures(validation.figures)) {
    table.add({group.gpu, group.engine, group.model, std::to_string(group.tp), group.metric, grouped(static_cast<std::int64_t>(group.rows)),
               percent(group.median), percent(group.p90), signed_percent(group.bias)});
  }
  return "\n" + table.text();
}

std::string skipped_text(const FigureValidation& validation) {
  std::string text;
  for (const SkippedRows& skipped : validation.skipped) {
    text += fmt::format("  {} rows not run: {}\n", grouped(static_cast<std::int64_t>(skipped.rows)), skipped.reason);
  }
  return text.empty() ? "" : "\n" + text;
}

std::string worst_text(const ReplayedLog& log) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (const ReplayedRequest& request : worst_requests(log, shown)) {
    text += fmt::format("    line {}: sent at {:.3f} s, {} in, {} out: TTFT {} ms, predicted {}; E2E {} ms, predicted {}\n", request.logged.line,
                        request.logged.sent_s, request.logged.input, request.logged.output, figure(request.logged.ttft), figure(request.ttft),
                        figure(request.logged.e2e), figure(request.e2e));
  }
  return text;
}

// Medians of each log, and the median and p90 error over its quantiles.
std::string logs_text(const std::vector<ReplayedLog>& logs, const Scenario& scenario) {
  std::string text;
  for (const ReplayedLog& log : logs) {
    text += fmt::format("{}{}: {} requests{}\n", log.file, log.label.empty() ? "" : " (" + log.label + ")",
                        grouped(static_cast<std::int64_t>(log.requests.size())), log.saturated ? ", overloaded by the simulation" : "");
    const FigureValidation of_log = quantile_figures({log}, scenario);
    TextTable table;
    table.add({"metric", "median, ms", "predicted", "error", "quantiles: median", "p90", "bias"});
    for (const FigureGroup& group : group_figures(of_log.figures)) {
      if (group.metric.ends_with("_median")) continue;
      for (const ValidatedFigure& row : of_log.figures) {
        if (row.metric != group.metric + "_median") continue;
        table.add({group.metric, figure(row.measured), figure(row.predicted), signed_percent(row.error()), percent(group.median), percent(group.p90),
                   signed_percent(group.bias)});
      }
    }
    text += table.text("  ") + "  worst requests by E2E\n" + worst_text(log);
  }
  return text;
}

void declare_outputs(Options& options) {
  options.value("json", "FILE", "write the groups as JSON; - for standard output");
  options.value("rows", "FILE", "write every figure, measured and predicted, as CSV");
  options.value("jobs", "N", "threads (default: one per processor); the result is the same for any number");
}

std::size_t jobs_of(const Options& options) {
  return static_cast<std::size_t>(options.integer("jobs", 1, 1024).value_or(static_cast<std::int64_t>(default_jobs())));
}

Duration overhead_of(const Options& options) {
  const std::optional<std::string> text = options.get("client-overhead");
  if (!text) return {};
  Diagnostics errors;
  const std::optional<Duration> value = read_value<Duration>(command_line_value(*text, "--client-overhead"), errors, non_negative);
  errors.throw_if_any();
  return value.value_or(Duration{});
}

// Whether a log is of the scenario's model and degree of tensor parallelism, as far as it says.
bool is_of(const RequestLogFile& log, const Scenario& scenario) {
  const Pool& pool = scenario.fleet.front();
  const bool same_model = log.model.empty() || !pool.model || serving_model(log.model) == pool.model->name;
  return same_model && (log.tp == 0 || log.tp == pool.tensor_parallel_size);
}

}  // namespace

int validate_serving_command(const Arguments& arguments) {
  Options options("validate serving", "Builds the scenario that every row of published serving benchmarks states, runs it and compares every figure. "
                  "Rows that can't be expressed are counted by reason.", "FILE.csv...");
  declare_outputs(options);
  options.values("set", "KEY=VALUE", "change every row's scenario, like engine.host_overhead.per_step=1 ms; may be repeated");
  options.flag("groups", "print every (gpu, engine, model, tp, metric), not only the summary by GPU");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  const std::vector<std::string>& files = options.operands();
  if (files.empty()) throw ConfigError("ridgeline validate serving: expected CSV files");

  Outputs outputs;
  AtomicFile* json = outputs.open(options.get("json"));
  AtomicFile* rows = outputs.open(options.get("rows"));
  FigureValidation validation;
  {
    Progress progress(progress_mode(options.get("progress")), 0, "rows");
    validation = validate_serving(std::vector<std::filesystem::path>(files.begin(), files.end()),
                                  {options.all("set"), jobs_of(options), [&](std::size_t done) { progress.update(static_cast<std::int64_t>(done)); }});
  }
  if (json != nullptr) json->write(to_json(validation));
  if (rows != nullptr) rows->write(figures_csv(validation));
  if (!outputs.uses_standard_output()) {
    print(summary_text(validation) + (options.has("groups") ? groups_text(validation) : "") + skipped_text(validation));
  }
  outputs.commit();
  return 0;
}

int validate_requests_command(const Arguments& arguments) {
  Options options("validate requests", "Replays per-request logs through a scenario's fleet and compares the distributions of TTFT, TPOT and E2E.",
                  "LOG.csv...");
  options.value("scenario", "FILE.yaml", "fleet and engine; its own load is not used (required)");
  options.value("client-overhead", "TIME", "between client and engine, like `6 ms`: HTTP, chat template, tokenisation, the way back (default 0)");
  declare_outputs(options);
  declare_scenario_options(options);
  if (!options.parse(arguments)) return 0;
  const std::vector<std::string>& files = options.operands();
  if (files.empty()) throw ConfigError("ridgeline validate requests: expected CSV files");
  const std::optional<std::string> scenario_file = options.get("scenario");
  if (!scenario_file) throw ConfigError("ridgeline validate requests: --scenario FILE.yaml is missing: the fleet and engine to replay on");
  const Scenario scenario = load_scenario(*scenario_file, scenario_options(options));
  const Duration client_overhead = overhead_of(options);

  Outputs outputs;
  AtomicFile* json = outputs.open(options.get("json"));
  AtomicFile* rows = outputs.open(options.get("rows"));
  std::vector<RequestLogFile> logs;
  FigureValidation validation;
  for (const std::string& file : files) {
    for (RequestLogFile& log : read_request_logs(file)) {
      if (is_of(log, scenario)) logs.push_back(std::move(log));
      else validation.skip(fmt::format("of {}, not the scenario's model and tensor parallelism", log.label), log.requests.size());
    }
  }
  const std::vector<ReplayedLog> replayed = parallel_map(logs.size(), jobs_of(options), [&](std::size_t i) { return replay(logs[i], scenario, client_overhead); });
  validation.figures = quantile_figures(replayed, scenario).figures;
  if (json != nullptr) json->write(to_json(validation));
  if (rows != nullptr) rows->write(figures_csv(validation));
  if (!outputs.uses_standard_output()) print(logs_text(replayed, scenario) + skipped_text(validation));
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
