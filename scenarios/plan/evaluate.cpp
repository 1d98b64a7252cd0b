#include "scenarios/plan/evaluate.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "scenarios/report/text.hpp"
#include "scenarios/study/metric.hpp"
#include "scenarios/study/replications.hpp"

namespace ridgeline {

namespace {

double at_percentile(const Summary& summary, double percentile) {
  return percentile == 50 ? summary.p50 : percentile == 90 ? summary.p90 : percentile == 95 ? summary.p95 : summary.p99;
}

bool closed(const Scenario& scenario) {
  const WorkloadConfig& workload = scenario.workload;
  return workload.max_concurrency && workload.arrival && workload.arrival->process == ArrivalConfig::Process::all_at_once;
}

std::string missed_limits(const Slo& slo, const RunMetrics& metrics) {
  const double percentile = quoted_percentile(slo);
  std::string text;
  const auto check = [&](const char* name, const std::optional<Duration>& limit, const Summary& summary) {
    const double value = at_percentile(summary, percentile);
    if (!limit || summary.count == 0 || value <= limit->milliseconds()) return;
    text += fmt::format("{}{} p{:.0f} {} ms", text.empty() ? "" : ", ", name, percentile, figure(value));
  };
  check("TTFT", slo.ttft, metrics.ttft);
  check("TPOT", slo.tpot, metrics.tpot);
  check("ITL", slo.itl, metrics.itl);
  check("E2EL", slo.e2el, metrics.e2el);
  return text;
}

template <class Value>
Estimate estimate_of(const std::vector<RunResult>& runs, Value&& value) {
  std::vector<double> samples;
  samples.reserve(runs.size());
  for (const RunResult& result : runs) samples.push_back(value(result.metrics));
  return estimate(samples);
}

std::optional<Estimate> estimate_latency(const std::vector<RunResult>& runs, Summary RunMetrics::*metric, double percentile) {
  if (std::any_of(runs.begin(), runs.end(), [&](const RunResult& result) { return (result.metrics.*metric).count == 0; })) return std::nullopt;
  return estimate_of(runs, [&](const RunMetrics& metrics) { return at_percentile(metrics.*metric, percentile); });
}

std::optional<Estimate> estimate_named(const std::string& name, const Scenario& scenario, const std::vector<RunResult>& runs) {
  const std::vector<double> values = values_of(find_metric(name, "plan"), scenario, runs);
  return values.empty() ? std::nullopt : std::optional(estimate(values));
}

double running(const RunMetrics& metrics) {
  double sum = 0.0;
  for (const PoolMetrics& pool : metrics.pools) sum += pool.running_mean * static_cast<double>(pool.facts.replicas);
  return sum;
}

}  // namespace

double quoted_percentile(const Slo& slo) { return slo.percentile.value_or(99.0); }

Verdict judge(const Slo& slo, bool closed_loop, const RunMetrics& metrics) {
  if (metrics.saturated && !closed_loop) return {false, "the queue grows without end"};
  if (slo.empty()) {
    if (closed_loop && metrics.fleet.preemptions > 0) return {false, fmt::format("{} preemptions for lack of KV memory", metrics.fleet.preemptions)};
    return {true, ""};
  }
  if (slo.goodput_share) {
    const double share = metrics.completed > 0 ? static_cast<double>(metrics.good) / static_cast<double>(metrics.completed) : 0.0;
    if (share >= *slo.goodput_share) return {true, ""};
    return {false, fmt::format("{} of the requests within every limit", percent(share))};
  }
  std::string missed = missed_limits(slo, metrics);
  return {missed.empty(), std::move(missed)};
}

FleetFigures figures_of(const Scenario& scenario, const std::vector<RunResult>& runs) {
  FleetFigures figures{.replications = runs.size()};
  for (const RunResult& result : runs) {
    const Verdict verdict = judge(scenario.slo, closed(scenario), result.metrics);
    if (verdict.met) ++figures.met;
    else if (figures.misses.empty()) figures.misses = verdict.misses;
    figures.preemptions += result.metrics.fleet.preemptions;
  }
  const double percentile = quoted_percentile(scenario.slo);
  figures.ttft_p50_ms = estimate_latency(runs, &RunMetrics::ttft, 50);
  figures.ttft_ms = estimate_latency(runs, &RunMetrics::ttft, percentile);
  figures.tpot_p50_ms = estimate_latency(runs, &RunMetrics::tpot, 50);
  figures.tpot_ms = estimate_latency(runs, &RunMetrics::tpot, percentile);
  figures.e2el_ms = estimate_latency(runs, &RunMetrics::e2el, percentile);
  figures.slo_attainment = estimate_named("slo_attainment", scenario, runs);
  figures.usd_per_million_output_tokens = estimate_named("usd_per_million_output_tokens", scenario, runs);
  figures.request_throughput = estimate_of(runs, [](const RunMetrics& metrics) { return metrics.request_throughput; });
  figures.output_throughput = estimate_of(runs, [](const RunMetrics& metrics) { return metrics.output_throughput; });
  figures.total_token_throughput = estimate_of(runs, [](const RunMetrics& metrics) { return metrics.total_token_throughput; });
  figures.busy = estimate_of(runs, [](const RunMetrics& metrics) { return metrics.fleet.busy; });
  figures.kv_cache_usage_peak = estimate_of(runs, [](const RunMetrics& metrics) { return metrics.fleet.kv_cache_usage_peak; });
  figures.running = estimate_of(runs, running);
  if (estimate_named("energy_joules", scenario, runs)) {
    figures.watts = estimate_of(runs, [](const RunMetrics& metrics) { return metrics.fleet.energy.count() / metrics.duration.seconds(); });
  }
  return figures;
}

std::vector<RunResult> Evaluator::runs(const Scenario& scenario, std::size_t first, std::size_t count) {
  return replicate(scenario, first, count, options_.jobs, [&](std::size_t) { count_run(); });
}

void Evaluator::count_run() {
  const std::scoped_lock lock(counting_);
  ++simulations_;
  if (options_.progress) options_.progress(simulations_);
}

FleetFigures Evaluator::all(const Scenario& scenario) { return figures_of(scenario, runs(scenario, 0, replications_)); }

FleetFigures Evaluator::until_missed(const Scenario& scenario) {
  std::vector<RunResult> results = runs(scenario, 0, 1);
  const FleetFigures first = figures_of(scenario, results);
  if (first.met == 0 || replications_ == 1) return first;
  std::vector<RunResult> rest = runs(scenario, 1, replications_ - 1);
  std::move(rest.begin(), rest.end(), std::back_inserter(results));
  return figures_of(scenario, results);
}

RunResult Evaluator::one(const Scenario& scenario, std::size_t index) { return std::move(runs(scenario, index, 1).front()); }

}  // namespace ridgeline
