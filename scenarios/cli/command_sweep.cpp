// ridgeline sweep SCENARIO.yaml
#include <algorithm>

#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/report/html/sweep_page.hpp"
#include "scenarios/report/sweep_csv.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/sweep/run_sweep.hpp"
#include "scenarios/sweep/store.hpp"

namespace ridgeline::cli {

namespace {

// Bugs of ours are rows like any other, but the command must not end as if nothing had happened.
void report_bugs(const SweepTable& table) {
  for (const SweepRow& row : table.rows) {
    if (row.outcome.status == PointStatus::error) throw InternalError(row.label + ": " + row.outcome.reason);
  }
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  Options options("sweep",
                  "Runs every point of the scenario's `alternatives:` and `sweep:` (lists, ranges, named values, pairs). Points under a\n"
                  "`skip:` rule, and points that can't be built or run, are rows with their reason. With --db, a sweep that was killed\n"
                  "goes on where it stopped and ends with the same bytes; results of equal points are taken from the file.",
                  "SCENARIO.yaml");
  declare_scenario_options(options);
  options.value("jobs", "N", "threads (default: one per processor); the result is the same for any number");
  options.value("csv", "FILE", "write one row per point; - for standard output");
  options.value("html", "FILE", "write a report page: curves, Pareto front, cost and every point, one file that opens offline");
  options.value("db", "FILE", "SQLite file to keep results in and resume from: tables `points` and `results`, view `sweep`");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  const auto jobs = static_cast<std::size_t>(options.integer("jobs", 1, 1024).value_or(static_cast<std::int64_t>(default_jobs())));
  const ProgressMode mode = progress_mode(options.get("progress"));
  const Config document = load_document(options.operand(), scenario_options(options));

  Outputs outputs;
  AtomicFile* csv = outputs.open(options.get("csv"));
  AtomicFile* html_file = outputs.open(options.get("html"));
  std::optional<SweepStore> store;
  if (const auto file = options.get("db")) store.emplace(*file);

  SweepOptions sweep{.jobs = jobs, .store = store ? &*store : nullptr};
  std::optional<Progress> progress;
  sweep.progress = [&](std::size_t done, std::size_t wanted, std::size_t stored) {
    if (!progress) progress.emplace(mode, static_cast<std::int64_t>(wanted), "points", static_cast<std::int64_t>(stored));
    progress->update(static_cast<std::int64_t>(done));
  };
  const SweepTable table = run_sweep(document, sweep);
  progress.reset();
  if (csv != nullptr) csv->write(sweep_csv(table));
  if (html_file != nullptr) html_file->write(html::html_page(html::sweep_page(table)));
  if (!outputs.uses_standard_output()) print(sweep_text(table));
  if (store) store->finish(table);
  outputs.commit();
  report_bugs(table);
  return 0;
}

}  // namespace ridgeline::cli
