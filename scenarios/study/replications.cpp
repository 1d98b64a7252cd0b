#include "scenarios/study/replications.hpp"

#include <algorithm>

#include "scenarios/study/parallel.hpp"

namespace ridgeline {

Scenario with_seed(Scenario scenario, std::uint64_t seed) {
  scenario.seed = seed;
  for (Pool& pool : scenario.fleet) pool.engine.seed = seed;
  scenario.resolved = scenario.resolved.with("seed", Config::make_scalar(std::to_string(seed), {}, "seed"));
  return scenario;
}

std::vector<RunResult> replicate(const Scenario& scenario, std::size_t first, std::size_t count, std::size_t jobs,
                                 const std::function<void(std::size_t)>& done) {
  return parallel_map(count, jobs, [&](std::size_t i) { return run(with_seed(scenario, scenario.seed + first + i)); }, done);
}

std::vector<double> values_of(const Metric& metric, const Scenario& scenario, const std::vector<RunResult>& runs) {
  std::vector<double> values;
  for (const RunResult& result : runs) {
    const std::optional<double> value = metric.value(scenario, result.metrics);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

bool seeds_matter(const std::vector<RunResult>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const RunResult& result) { return result.fingerprint != runs.front().fingerprint; });
}

}  // namespace ridgeline
