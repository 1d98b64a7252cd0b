#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/plan/goals.hpp"
#include "scenarios/plan/knee.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/replications.hpp"

namespace ridgeline {

namespace {

constexpr double shares_shown[] = {0.5, 0.8, 0.95, 1.0, 1.05};

std::string fleet_text(const std::vector<Pool>& fleet) {
  std::string text;
  for (const Pool& pool : fleet) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", pool.replicas, pool.gpu ? pool.gpu->name : pool.name);
    if (pool.tensor_parallel_size > 1) text += fmt::format(" TP{}", pool.tensor_parallel_size);
  }
  return text;
}

Scenario loaded(const Scenario& scenario, LoadKnob knob, double load) {
  Scenario heavier = scenario;
  heavier.workload = at_load(scenario.workload, knob, load);
  return heavier;
}

// The knee of one replication, and what its last missing run missed.
struct ReplicationKnee {
  Knee knee;
  std::string limit;
};

ReplicationKnee knee_of(const Scenario& scenario, LoadKnob knob, const KneeSearch& search, std::size_t replication, Evaluator& evaluator) {
  ReplicationKnee found;
  double lowest_miss = 0.0;
  const auto meets = [&](double load) {
    const FleetFigures figures = figures_of(scenario, {run(with_seed(loaded(scenario, knob, load), scenario.seed + replication))});
    evaluator.count_run();
    if (figures.met == 0 && (lowest_miss == 0.0 || load < lowest_miss)) lowest_miss = load, found.limit = figures.misses;
    return figures.met > 0;
  };
  found.knee = find_knee(meets, search);
  return found;
}

KneeSearch search_for(const MaxRatePlan& plan, const PlanRequest& request) {
  KneeSearch search{.tolerance = request.tolerance};
  if (plan.demand.knob == LoadKnob::max_concurrency) {
    search.whole = true;
    search.least = 1;
    search.most = std::max(1.0, std::floor(plan.bound));  // never more than stays resident
    search.start = std::max(1.0, search.most / 2);
    return search;
  }
  if (plan.bound >= unbounded_capacity) {  // start from what the scenario says, and look far
    search.start = plan.demand.load;
    search.least = plan.demand.load / 1024;
    search.most = plan.demand.load * 1024;
    return search;
  }
  search.start = plan.bound / 2;
  search.least = plan.bound / 1024;
  search.most = plan.bound * 4;  // the bound is one: a load above it fails
  return search;
}

// Runs as long as the highest thinkable rate needs; the same requests at every load.
void lengthen(Scenario& scenario, MaxRatePlan& plan, const PlanRequest& request) {
  if (plan.demand.knob != LoadKnob::request_rate || request.num_prompts || plan.bound >= unbounded_capacity) return;
  scenario.workload = planned_workload(loaded(scenario, plan.demand.knob, plan.bound), std::nullopt);
  scenario.workload.arrival->request_rate = RequestsPerSecond{plan.demand.load};
  plan.demand.requests = *scenario.workload.num_prompts;
}

double fleet_bound(const Scenario& scenario, MaxRatePlan& plan) {
  double bound = 0.0;
  for (const Pool& pool : scenario.fleet) {
    const ReplicaBounds replica = replica_bounds(scenario, pool, plan.demand);
    if (bound == 0.0) plan.alone = replica;
    bound += replica.capacity * pool.replicas;
  }
  return plan.demand.knob == LoadKnob::rate_factor ? bound / plan.demand.request_rate : bound;
}

}  // namespace

MaxRatePlan max_rate(const Scenario& given, const PlanRequest& request, Evaluator& evaluator) {
  Scenario scenario = given;
  scenario.workload = planned_workload(given, request.num_prompts);
  MaxRatePlan plan{.fleet = fleet_text(scenario.fleet), .demand = measure_demand(scenario)};
  plan.bound = fleet_bound(scenario, plan);
  lengthen(scenario, plan, request);
  const KneeSearch search = search_for(plan, request);
  const LoadKnob knob = plan.demand.knob;
  const auto found = parallel_map(evaluator.replications(), evaluator.jobs(),
                                  [&](std::size_t replication) { return knee_of(scenario, knob, search, replication, evaluator); });
  bool some_fail = false;
  for (const ReplicationKnee& replication : found) {
    if (replication.knee.passes) plan.knees.push_back(*replication.knee.passes);
    some_fail = some_fail || replication.knee.fails;
    if (plan.limit.empty()) plan.limit = replication.limit;
  }
  plan.all_that_fits = !some_fail;
  if (plan.knees.size() == found.size()) {
    plan.load = estimate(plan.knees);
    for (const double share : shares_shown) {
      double load = plan.load->mean * share;
      if (knob == LoadKnob::max_concurrency) load = std::max(1.0, std::floor(load));
      if (plan.all_that_fits && share > 1.0) continue;
      plan.points.push_back({load, share, evaluator.all(loaded(scenario, knob, load))});
    }
  }
  plan.simulations = evaluator.simulations();
  return plan;
}

}  // namespace ridgeline
