#include "scenarios/sweep/run_sweep.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>

#include "scenarios/build/run.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/study/metric.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/sweep/scenario_key.hpp"
#include "scenarios/sweep/skip_rules.hpp"
#include "scenarios/sweep/store.hpp"

namespace ridgeline {

namespace {

// A point before it runs. Resolved scenarios are not kept: a hundred thousand of them would fill the memory.
struct Prepared {
  std::string key;
  PointOutcome outcome;  // `ok`: to be run
};

Prepared prepare(const ScenarioPoint& point, ScenarioKeys& keys, const std::function<std::optional<std::string>(const Scenario*)>& skip) {
  Prepared prepared;
  std::optional<Scenario> scenario;
  try {
    scenario = resolve_scenario(point.document);
  } catch (const ConfigError& error) {
    prepared.outcome = {.status = PointStatus::infeasible, .reason = error.what()};
  }
  prepared.key = keys.of(scenario ? scenario->resolved : point.document);
  if (const auto reason = skip(scenario ? &*scenario : nullptr)) {
    prepared.outcome = {.status = PointStatus::skipped, .reason = *reason};
  }
  return prepared;
}

PointOutcome outcome_of(const Scenario& scenario, const RunResult& result) {
  PointOutcome outcome;
  for (const Metric& metric : metrics()) outcome.metrics.push_back(metric.value(scenario, result.metrics));
  outcome.saturated = result.metrics.saturated;
  outcome.slo_met = meets(scenario.slo, result.metrics);
  return outcome;
}

// A point that can't be run is a row, not the end of the sweep; so is a bug of ours, which the command then reports.
StoredResult run_point(const ScenarioPoint& point, const std::string& key) {
  StoredResult stored{.key = key};
  try {
    const Scenario scenario = resolve_scenario(point.document);
    stored.scenario = to_json(scenario.resolved).dump();
    stored.outcome = outcome_of(scenario, run(scenario));
  } catch (const ConfigError& error) {
    stored.outcome = {.status = PointStatus::failed, .reason = error.what()};
  } catch (const std::exception& error) {
    stored.outcome = {.status = PointStatus::error, .reason = error.what()};
  }
  return stored;
}

std::vector<Prepared> prepare_all(const Config& document, const std::vector<ScenarioPoint>& points, std::size_t jobs) {
  ScenarioKeys keys;
  SkipJudge judge(read_skip_rules(document));
  std::mutex judging;
  std::vector<Prepared> prepared = parallel_map(points.size(), jobs, [&](std::size_t i) {
    return prepare(points[i], keys, [&](const Scenario* scenario) {
      const std::scoped_lock lock(judging);
      return judge.reason(points[i], scenario);
    });
  });
  judge.check_keys();
  return prepared;
}

// The first point of every key that wants to run and is not stored.
std::vector<std::size_t> points_to_run(const std::vector<Prepared>& prepared, std::map<std::string, PointOutcome>& outcomes, SweepStore* store) {
  std::vector<std::size_t> wanted;
  std::map<std::string, bool> seen;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (prepared[i].outcome.status != PointStatus::ok || !seen.emplace(prepared[i].key, true).second) continue;
    std::optional<PointOutcome> stored = store != nullptr ? store->find(prepared[i].key) : std::nullopt;
    if (stored) outcomes.emplace(prepared[i].key, std::move(*stored));
    else wanted.push_back(i);
  }
  return wanted;
}

// When nothing came of any point, the first reason is the answer, not a table of it.
void refuse_hopeless(const SweepTable& table) {
  const auto hopeless = [](const SweepRow& row) {
    return row.outcome.status == PointStatus::infeasible || row.outcome.status == PointStatus::failed;
  };
  if (std::all_of(table.rows.begin(), table.rows.end(), hopeless)) throw ConfigError(table.rows.front().outcome.reason);
}

}  // namespace

SweepTable run_sweep(const Config& document, const SweepOptions& options) {
  const std::vector<ScenarioPoint> points = expand(document);
  const std::vector<Prepared> prepared = prepare_all(document, points, options.jobs);
  std::map<std::string, PointOutcome> outcomes;
  const std::vector<std::size_t> wanted = points_to_run(prepared, outcomes, options.store);

  const std::size_t stored = outcomes.size();
  const auto report = [&](std::size_t done) {
    if (options.progress) options.progress(stored + done, stored + wanted.size(), stored);
  };
  report(0);
  std::vector<PointOutcome> fresh = parallel_map(wanted.size(), options.jobs, [&](std::size_t i) {
    StoredResult result = run_point(points[wanted[i]], prepared[wanted[i]].key);
    if (options.store != nullptr) options.store->put(result);
    return std::move(result.outcome);
  }, report);
  for (std::size_t i = 0; i < wanted.size(); ++i) outcomes.emplace(prepared[wanted[i]].key, std::move(fresh[i]));

  SweepTable table;
  if (const auto name = document.find("name"); name && name->is_scalar()) table.name = name->scalar();
  for (const auto& [path, value] : points.front().values) table.axes.push_back(path);
  for (std::size_t i = 0; i < points.size(); ++i) {
    SweepRow row{.label = points[i].label, .key = prepared[i].key, .outcome = prepared[i].outcome};
    for (const auto& [path, value] : points[i].values) row.values.push_back(value);
    if (row.outcome.status == PointStatus::ok) row.outcome = outcomes.at(row.key);
    table.rows.push_back(std::move(row));
  }
  refuse_hopeless(table);
  return table;
}

}  // namespace ridgeline
