// ridgeline sweep SCENARIO.yaml
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "scenarios/build/run.hpp"
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/report/sweep_csv.hpp"

namespace ridgeline::cli {

namespace {

PointResult run_point(const ScenarioPoint& point) {
  PointResult outcome;
  try {
    outcome.scenario = resolve_scenario(point.document);
    outcome.result = run(*outcome.scenario);
  } catch (const ConfigError& error) {
    outcome.result.reset();
    outcome.error = error.what();
  }
  return outcome;
}

// Threads take points in order and fill slot i: the answer does not depend on their number.
std::vector<PointResult> run_points(const std::vector<ScenarioPoint>& points, std::size_t jobs, ProgressMode mode) {
  std::vector<PointResult> results(points.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr bug;
  std::int64_t done = 0;
  Progress progress(mode, static_cast<std::int64_t>(points.size()), "points");
  const auto work = [&] {
    for (std::size_t i = next++; i < points.size(); i = next++) {
      try {
        results[i] = run_point(points[i]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!bug) bug = std::current_exception();
        return;
      }
      const std::scoped_lock lock(mutex);
      progress.update(++done);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(jobs, points.size()); ++i) threads.emplace_back(work);
    work();
  }
  if (bug) std::rethrow_exception(bug);
  return results;
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  Options options("sweep", "Runs every combination of the scenario's `alternatives:` and `sweep:`. A point that can't run is a row with its reason.",
                  "SCENARIO.yaml");
  declare_scenario_options(options);
  options.value("jobs", "N", "threads (default: one per processor); the result is the same for any number");
  options.value("csv", "FILE", "write one row per point; - for standard output");
  options.value("db", "FILE", "SQLite file to resume from (not in this version)");
  options.value("progress", "WHEN", "auto (default), always or never");
  if (!options.parse(arguments)) return 0;
  if (options.has("db")) throw ConfigError("--db: resuming from a database is not in this version; use --csv");
  const std::int64_t processors = std::max(1U, std::thread::hardware_concurrency());
  const auto jobs = static_cast<std::size_t>(options.integer("jobs", 1, 1024).value_or(processors));
  const ProgressMode mode = progress_mode(options.get("progress"));

  const std::vector<ScenarioPoint> points = expand(load_document(options.operand(), scenario_options(options)));
  Outputs outputs;
  AtomicFile* csv = outputs.open(options.get("csv"));
  const std::vector<PointResult> results = run_points(points, jobs, mode);
  const bool all_refused = std::none_of(results.begin(), results.end(), [](const PointResult& point) { return point.result.has_value(); });
  if (all_refused) throw ConfigError(results.front().error);
  if (csv != nullptr) csv->write(sweep_csv(points, results));
  if (!outputs.uses_standard_output()) print(sweep_table(points, results));
  outputs.commit();
  return 0;
}

}  // namespace ridgeline::cli
