#include "scenarios/explain/breakdown.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/build/step_cost.hpp"

namespace ridgeline {

namespace {

template <class Wanted>
RequestGroup group_of(const std::vector<RequestTime>& requests, Wanted wanted) {
  std::vector<TimeParts> ttft, tpot;
  for (const RequestTime& request : requests) {
    if (!wanted(request)) continue;
    ttft.push_back(request.ttft);
    if (request.output > 1) tpot.push_back(request.tpot());
  }
  return {static_cast<std::int64_t>(ttft.size()), static_cast<std::int64_t>(tpot.size()), mean_of(ttft), mean_of(tpot)};
}

// As Distribution::percentile, parts and all.
TimeParts percentile_of(const std::vector<TimeParts>& sorted, double p) {
  if (sorted.empty()) return {};
  const double rank = static_cast<double>(sorted.size() - 1) * p / 100.0;
  const auto lower = static_cast<std::size_t>(std::floor(rank));
  const TimeParts& a = sorted[lower];
  const TimeParts& b = sorted[std::min(lower + 1, sorted.size() - 1)];
  const double share = rank - static_cast<double>(lower);
  const Duration above = b.total() - a.total();
  return between(a, b, share, a.total() + Duration{static_cast<std::int64_t>(std::nearbyint(above.as_double() * share))});
}

std::vector<TimeParts> by_total(std::vector<TimeParts> latencies) {
  std::stable_sort(latencies.begin(), latencies.end(), [](const TimeParts& a, const TimeParts& b) { return a.total() < b.total(); });
  return latencies;
}

}  // namespace

Breakdown break_down(const std::vector<RequestTime>& requests, const std::vector<std::string>& pools, bool has_slo) {
  Breakdown breakdown;
  breakdown.all = group_of(requests, [](const RequestTime&) { return true; });
  if (has_slo) breakdown.missed = group_of(requests, [](const RequestTime& request) { return !request.good; });
  for (std::uint32_t pool = 0; pools.size() > 1 && pool < pools.size(); ++pool) {
    breakdown.pools.push_back({pools[pool], group_of(requests, [&](const RequestTime& request) { return request.pool == PoolId{pool}; })});
  }
  std::vector<TimeParts> ttft, tpot;
  for (const RequestTime& request : requests) {
    ttft.push_back(request.ttft);
    if (request.output > 1) tpot.push_back(request.tpot());
  }
  ttft = by_total(std::move(ttft));
  tpot = by_total(std::move(tpot));
  breakdown.ttft_p50 = percentile_of(ttft, 50);
  breakdown.ttft_p99 = percentile_of(ttft, 99);
  breakdown.tpot_p50 = percentile_of(tpot, 50);
  breakdown.tpot_p99 = percentile_of(tpot, 99);
  return breakdown;
}

Breakdown break_down(const Scenario& scenario, RunResult& result, RunOptions options) {
  std::vector<std::shared_ptr<StepCost>> costs;
  std::vector<std::string> pools;
  std::size_t replicas = 0;
  for (const Pool& pool : scenario.fleet) {
    costs.push_back(make_step_cost(scenario, pool, options.adjust_device));
    pools.push_back(pool.name);
    replicas += static_cast<std::size_t>(pool.replicas);
  }
  TimeAttribution attribution(std::move(costs), replicas, scenario.slo.limits());
  options.observers.push_back(&attribution);
  result = run(scenario, options);
  return break_down(attribution.requests(), pools, !scenario.slo.empty());
}

}  // namespace ridgeline
