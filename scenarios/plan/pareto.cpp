#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "scenarios/plan/goals.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/replications.hpp"

namespace ridgeline {

namespace {

// As InferenceMAX runs its points (SemiAnalysis InferenceMAX, benchmark scripts, 2025): all clients at once, ten rounds of requests.
constexpr std::int64_t rounds = 10;
constexpr std::int64_t least_requests = 64;

struct Case {
  const Configuration* configuration = nullptr;
  std::int64_t concurrency = 0;
  Scenario scenario;
};

int replicas_of(const Configuration& configuration, const PlanRequest& request) {
  const int gpus = configuration.replica().gpus();
  return request.gpus_per_fleet ? *request.gpus_per_fleet / gpus : 1;
}

Scenario closed_loop(const Configuration& configuration, int replicas, std::int64_t concurrency, const PlanRequest& request) {
  Scenario scenario = scenario_of_fleet({{&configuration, replicas}});
  WorkloadConfig& workload = scenario.workload;
  workload.arrival = ArrivalConfig{};
  workload.arrival->process = ArrivalConfig::Process::all_at_once;
  workload.max_concurrency = concurrency;
  workload.duration.reset();
  workload.num_prompts = request.num_prompts.value_or(std::max(least_requests, rounds * concurrency));
  return scenario;
}

// What stays in the KV memory with every request at its mean final length, and in the batch.
std::int64_t resident(const Scenario& scenario, const Demand& demand) {
  std::int64_t sum = 0;
  for (const Pool& pool : scenario.fleet) {
    std::int64_t held = pool.engine.max_num_seqs;
    if (pool.memory) {
      const auto tokens = Tokens{std::max<std::int64_t>(1, std::llround(demand.mean_input + demand.mean_output))};
      held = std::min(held, (pool.engine.num_gpu_blocks - 1) / std::max<std::int64_t>(1, pool.memory->layout.blocks_of_request(tokens, pool.engine.max_num_batched_tokens)));
    }
    sum += held * pool.replicas;
  }
  return sum;
}

std::vector<std::int64_t> concurrencies(const PlanRequest& request, std::int64_t most) {
  if (!request.concurrency.empty()) {
    std::vector<std::int64_t> sorted = request.concurrency;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return sorted;
  }
  std::vector<std::int64_t> doubled;
  for (std::int64_t concurrency = 1; concurrency <= std::min<std::int64_t>(most, 1024); concurrency *= 2) doubled.push_back(concurrency);
  return doubled;
}

ParetoPoint point_of(const Case& one, const std::vector<RunResult>& runs) {
  ParetoPoint point{.gpus = one.scenario.gpus(), .concurrency = one.concurrency, .figures = figures_of(one.scenario, runs)};
  point.label = fmt::format("{} x {}", one.scenario.fleet.front().replicas, one.configuration->label);
  std::vector<double> users, outputs, totals;
  for (const RunResult& result : runs) {
    const RunMetrics& metrics = result.metrics;
    users.push_back(metrics.tpot.p50 > 0 ? 1000.0 / metrics.tpot.p50 : 0.0);
    outputs.push_back(metrics.output_throughput / point.gpus);
    totals.push_back(metrics.total_token_throughput / point.gpus);
  }
  point.tokens_per_user = estimate(users);
  point.output_per_gpu = estimate(outputs);
  point.total_per_gpu = estimate(totals);
  const double per_hour = point.output_per_gpu.mean * point.gpus * 3600 / 1e6;
  const int replicas = one.scenario.fleet.front().replicas;
  if (per_hour > 0 && one.configuration->price_high.count() > 0) {
    point.usd_per_million_low = one.configuration->price_low.count() * replicas / per_hour;
    point.usd_per_million_high = one.configuration->price_high.count() * replicas / per_hour;
  }
  return point;
}

// A point is on the front when none is at least as good in both ways and better in one.
void mark_front(std::vector<ParetoPoint>& points) {
  for (ParetoPoint& point : points) {
    point.front = std::none_of(points.begin(), points.end(), [&](const ParetoPoint& other) {
      const double users = other.tokens_per_user.mean - point.tokens_per_user.mean;
      const double outputs = other.output_per_gpu.mean - point.output_per_gpu.mean;
      return users >= 0 && outputs >= 0 && (users > 0 || outputs > 0);
    });
  }
}

std::vector<ParetoLead> leads_of(const std::vector<ParetoPoint>& points) {
  std::map<std::int64_t, std::vector<const ParetoPoint*>> by_concurrency;
  std::set<std::string> labels;
  for (const ParetoPoint& point : points) {
    by_concurrency[point.concurrency].push_back(&point);
    labels.insert(point.label);
  }
  std::vector<ParetoLead> leads;
  for (const auto& [concurrency, rivals] : by_concurrency) {
    if (labels.size() < 2 || rivals.size() != labels.size()) continue;
    const auto most = [&](Estimate ParetoPoint::*figure) {
      return (*std::max_element(rivals.begin(), rivals.end(), [&](const auto* a, const auto* b) { return (a->*figure).mean < (b->*figure).mean; }))->label;
    };
    leads.push_back({concurrency, most(&ParetoPoint::output_per_gpu), most(&ParetoPoint::tokens_per_user)});
  }
  return leads;
}

}  // namespace

ParetoPlan pareto(const std::vector<Configuration>& configurations, const PlanRequest& request, Evaluator& evaluator) {
  ParetoPlan plan;
  std::vector<Case> cases;
  std::vector<bool> stays;  // by case: its requests fit into the KV memory at their mean length
  for (const Configuration& configuration : configurations) {
    if (configuration.refusal != Refusal::none) {
      plan.ruled_out.push_back({configuration.label, configuration.refusal == Refusal::memory ? "memory" : "impossible", configuration.why.front().message});
      continue;
    }
    const int replicas = replicas_of(configuration, request);
    if (replicas == 0) {
      plan.ruled_out.push_back({configuration.label, "impossible", fmt::format("one replica needs {} GPUs", configuration.replica().gpus())});
      continue;
    }
    Scenario scenario = closed_loop(configuration, replicas, 1, request);
    if (plan.demand.requests == 0) plan.demand = measure_demand(scenario);
    const std::int64_t most = resident(scenario, plan.demand);
    for (const std::int64_t concurrency : concurrencies(request, most)) {
      cases.push_back({&configuration, concurrency, closed_loop(configuration, replicas, concurrency, request)});
      stays.push_back(concurrency <= most);
    }
  }
  if (cases.empty()) throw_nothing_fits(configurations);
  const std::size_t replications = evaluator.replications();
  const auto runs = parallel_map(cases.size() * replications, evaluator.jobs(), [&](std::size_t i) {
    const Scenario& scenario = cases[i / replications].scenario;
    return run(with_seed(scenario, scenario.seed + i % replications));
  }, [&](std::size_t) { evaluator.count_run(); });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto first = runs.begin() + static_cast<std::ptrdiff_t>(i * replications);
    plan.points.push_back(point_of(cases[i], {first, first + static_cast<std::ptrdiff_t>(replications)}));
    const ParetoPoint& point = plan.points.back();
    const bool good = stays[i] && point.figures.preemptions == 0 && point.figures.met == replications;
    if (good && (!plan.recommended || point.output_per_gpu.mean > plan.points[*plan.recommended].output_per_gpu.mean)) plan.recommended = i;
  }
  mark_front(plan.points);
  plan.leads = leads_of(plan.points);
  plan.simulations = evaluator.simulations();
  return plan;
}

}  // namespace ridgeline
