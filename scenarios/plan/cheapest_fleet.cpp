#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "scenarios/plan/advice.hpp"
#include "scenarios/plan/goals.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

using Chosen = std::vector<std::pair<const Configuration*, int>>;

// A configuration that may serve, with its bounds.
struct Candidate {
  const Configuration* configuration = nullptr;
  ReplicaBounds bounds;
  int least = 1, most = 0;      ///< replicas
  std::vector<int> spares;      ///< by replicas needed
};

std::string fleet_label(const Chosen& fleet) {
  std::string text;
  for (const auto& [configuration, replicas] : fleet) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", replicas, configuration->label);
  }
  return text;
}

// Requests per second, or in flight, that a fleet's bounds must cover: what has to be done in time, over the time there is.
double load_to_carry(const Scenario& scenario, const Demand& demand) {
  if (demand.knob == LoadKnob::max_concurrency) return demand.load;
  const double seconds = static_cast<double>(demand.requests) / std::max(1e-9, demand.request_rate);
  const double grace = scenario.slo.ttft.value_or(Duration::seconds(60)).seconds() + 60.0;  // the last requests may end after the last arrival
  return demand.request_rate * share_of(scenario.slo) * seconds / (seconds + grace);
}

class CheapestFleet {
 public:
  CheapestFleet(const std::vector<Configuration>& configurations, const PlanRequest& request, Evaluator& evaluator)
      : configurations_(configurations), request_(request), evaluator_(evaluator) {}

  ChosenFleet answer() {
    if (!plan_for_the_busiest()) throw_nothing_fits(configurations_);
    for (const Configuration& configuration : configurations_) admit(configuration);
    result_.plan.configurations = static_cast<std::int64_t>(configurations_.size());
    if (!candidates_.empty()) search();
    if (result_.plan.rows.empty()) result_.plan.advice = advice_for_infeasible(configurations_, planned_, result_.plan.demand);
    else confirm();
    result_.plan.simulations = evaluator_.simulations();
    return std::move(result_);
  }

 private:
  // The workload is the same for all configurations; any that resolved has it.
  bool plan_for_the_busiest() {
    const auto resolved = std::find_if(configurations_.begin(), configurations_.end(), [](const Configuration& c) { return c.refusal == Refusal::none; });
    if (resolved == configurations_.end()) return false;
    planned_ = resolved->scenario;
    whole_ = planned_.workload;
    planned_.workload = planned_workload(planned_, request_.num_prompts);
    Demand& demand = result_.plan.demand;
    demand = measure_demand(planned_);
    cut_ = whole_.arrival && planned_.workload.arrival && whole_.arrival->process != planned_.workload.arrival->process;
    if (cut_) demand.busiest = load_text(demand.knob, demand.load);
    // Sessions that have to be held: without limits on latency, the memory is the objective.
    resident_ = demand.knob == LoadKnob::max_concurrency && planned_.slo.empty();
    return true;
  }

  void rule_out(const Configuration& configuration, const std::string& reason, const std::string& detail) {
    result_.plan.ruled_out.push_back({configuration.label, reason, detail});
    result_.plan.ruled_out_points += std::max(0, request_.most_replicas - request_.least_replicas + 1);
  }

  void admit(const Configuration& configuration) {
    if (configuration.refusal != Refusal::none) {
      rule_out(configuration, configuration.refusal == Refusal::memory ? "memory" : "impossible", configuration.why.front().message);
      return;
    }
    if (configuration.price() <= 0) {
      rule_out(configuration, "impossible", "has no dated price: give `price_per_gpu_hour`");
      return;
    }
    Candidate candidate{.configuration = &configuration, .bounds = replica_bounds(planned_, configuration.replica(), result_.plan.demand)};
    const std::string too_slow = slower_alone_than(planned_.slo, candidate.bounds, result_.plan.demand);
    if (!too_slow.empty()) {
      rule_out(configuration, "latency", too_slow);
      return;
    }
    if (resident_) {
      const double held = std::floor(candidate.bounds.held / (1 + request_.kv_margin));
      if (held < 1) {
        rule_out(configuration, "memory", fmt::format("KV memory holds {:.2f} requests of {} tokens; {:.0f} % of margin are asked for",
                                                      candidate.bounds.held, grouped(result_.plan.demand.longest.count()), request_.kv_margin * 100));
        return;
      }
      candidate.bounds.capacity = held;
    } else if (result_.plan.demand.knob == LoadKnob::max_concurrency) {
      candidate.bounds.capacity = unbounded_capacity;  // requests may wait as long as the limits allow
    }
    count_replicas(candidate);
    candidates_.push_back(std::move(candidate));
  }

  void count_replicas(Candidate& candidate) {
    const int gpus = candidate.configuration->replica().gpus();
    int gpu_limit = request_.max_gpus.value_or(1 << 30);
    if (candidate.configuration->max_gpus) gpu_limit = std::min(gpu_limit, *candidate.configuration->max_gpus);
    candidate.least = request_.least_replicas;
    candidate.spares.push_back(0);
    for (int needed = 1; needed <= request_.most_replicas; ++needed) {
      const int spares = request_.availability ? spare_replicas(needed, *request_.availability) : 0;
      if ((needed + spares) * gpus > gpu_limit) break;
      candidate.spares.push_back(spares);
      candidate.most = needed;
    }
  }

  void search() {
    std::vector<ReplicaOption> options;
    for (const Candidate& candidate : candidates_) {
      ReplicaOption option{.capacity = candidate.bounds.capacity, .least = candidate.least,
                           .kind = candidate.configuration->replica().gpu->name};
      for (int n = 0; n <= candidate.most; ++n) {
        const int installed = n + candidate.spares[static_cast<std::size_t>(n)];
        option.price.push_back(candidate.configuration->price() * installed);
        option.gpus.push_back(candidate.configuration->replica().gpus() * installed);
      }
      options.push_back(std::move(option));
    }
    FleetSearch search{.load = load_to_carry(planned_, result_.plan.demand), .most_gpus = request_.max_gpus.value_or(0), .top = request_.top,
                       .mixed = request_.mixed};
    if (request_.max_price) search.most_price = request_.max_price->count();
    const FleetSearchResult found = cheapest_fleets(options, search, [&](const Fleet& fleet) { return passes(fleet); });
    result_.plan.counts = found.counts;
    for (const FoundFleet& fleet : found.found) result_.plan.rows.push_back(row_of(fleet));
    if (found.found.empty()) return;
    cheapest_ = found.found.front().fleet;
    result_.fleet = with_spares(cheapest_);
  }

  [[nodiscard]] Chosen chosen(const Fleet& fleet) const {
    Chosen pools;
    for (const auto& [option, replicas] : fleet) pools.emplace_back(candidates_[option].configuration, replicas);
    return pools;
  }

  [[nodiscard]] Chosen with_spares(const Fleet& fleet) const {
    Chosen pools = chosen(fleet);
    for (std::size_t i = 0; i < fleet.size(); ++i) pools[i].second += spares_of(fleet[i]);
    return pools;
  }

  [[nodiscard]] int spares_of(const std::pair<std::size_t, int>& part) const {
    return candidates_[part.first].spares[static_cast<std::size_t>(part.second)];
  }

  // The fleet under `workload`, spares down.
  [[nodiscard]] Scenario scenario_of(const Fleet& fleet, const WorkloadConfig& workload) const {
    Scenario scenario = scenario_of_fleet(chosen(fleet));
    scenario.workload = workload;
    return scenario;
  }

  bool passes(const Fleet& fleet) {
    FleetFigures figures = evaluator_.until_missed(scenario_of(fleet, planned_.workload));
    const bool met = figures.met == figures.replications;
    judged_[fleet] = std::move(figures);
    return met;
  }

  // What spares add to a fleet: their share of the price of the needed replicas, and idle power.
  struct SpareCost {
    double price_factor = 1.0;
    Watts idle;
  };

  [[nodiscard]] SpareCost spare_cost(const Fleet& fleet) const {
    SpareCost cost;
    double needed = 0.0, all = 0.0;
    for (const auto& part : fleet) {
      const Configuration& configuration = *candidates_[part.first].configuration;
      const int spares = spares_of(part);
      needed += configuration.price() * part.second;
      all += configuration.price() * (part.second + spares);
      cost.idle += configuration.replica().gpu->idle * static_cast<double>(spares * configuration.replica().gpus());
    }
    if (needed > 0) cost.price_factor = all / needed;
    return cost;
  }

  FleetRow row_of(const FoundFleet& found) {
    FleetRow row{.label = fleet_label(chosen(found.fleet)), .price = found.price, .figures = judged_.at(found.fleet)};
    for (const auto& part : found.fleet) {
      const Candidate& candidate = candidates_[part.first];
      const int spares = spares_of(part), gpus = candidate.configuration->replica().gpus();
      row.replicas += part.second;
      row.spares += spares;
      row.gpus += (part.second + spares) * gpus;
      row.price_low += candidate.configuration->price_low.count() * (part.second + spares);
      row.price_high += candidate.configuration->price_high.count() * (part.second + spares);
      row.held += candidate.bounds.held * part.second;
      if (row.alone.ttft < candidate.bounds.ttft) row.alone = candidate.bounds;
    }
    const SpareCost spare = spare_cost(found.fleet);
    if (row.figures.usd_per_million_output_tokens) row.usd_per_million_output_tokens = row.figures.usd_per_million_output_tokens->mean * spare.price_factor;
    if (row.figures.watts) row.watts = row.figures.watts->mean + spare.idle.count();
    row.smaller_fails = why_smaller_fails(found);
    return row;
  }

  std::string why_smaller_fails(const FoundFleet& found) const {
    if (found.fails.empty()) return "";
    const auto judged = judged_.find(found.fails);
    if (judged != judged_.end()) return judged->second.misses;
    const std::string bound = candidates_[found.fleet.back().first].bounds.limited_by;
    return found.fails_by_bound ? "step prices: " + bound : "";
  }

  // The busiest part was planned for; all of it decides the cost of a token.
  void confirm() {
    if (!cut_ || cheapest_.empty()) return;
    const Scenario scenario = scenario_of(cheapest_, whole_);
    CheapestFleetPlan& plan = result_.plan;
    plan.whole_workload = figures_of(scenario, {evaluator_.one(scenario, 0)});
    const SpareCost spare = spare_cost(cheapest_);
    if (plan.whole_workload->usd_per_million_output_tokens) plan.whole_usd_per_million = plan.whole_workload->usd_per_million_output_tokens->mean * spare.price_factor;
    if (plan.whole_workload->watts) plan.whole_watts = plan.whole_workload->watts->mean + spare.idle.count();
  }

  const std::vector<Configuration>& configurations_;
  const PlanRequest& request_;
  Evaluator& evaluator_;
  Scenario planned_;       // any configuration's, under the planned workload
  WorkloadConfig whole_;   // the scenario's own workload
  bool cut_ = false;       // planned_ has only the busiest part of it
  bool resident_ = false;
  std::vector<Candidate> candidates_;
  std::map<Fleet, FleetFigures> judged_;
  ChosenFleet result_;
  Fleet cheapest_;         // spares not counted
};

}  // namespace

ChosenFleet cheapest_fleet(const std::vector<Configuration>& candidates, const PlanRequest& request, Evaluator& evaluator) {
  return CheapestFleet(candidates, request, evaluator).answer();
}

}  // namespace ridgeline
