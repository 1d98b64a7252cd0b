#include "scenarios/explain/sensitivity.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/study/parallel.hpp"
#include "scenarios/study/replications.hpp"

namespace ridgeline {

namespace {

constexpr double step_up = 1.1;

struct Variant {
  std::optional<Resource> resource;  // none: the scenario itself
  Scenario scenario;
};

std::vector<Variant> variants_of(const Scenario& scenario) {
  std::vector<Variant> variants{{std::nullopt, scenario}};
  for (const Resource resource : all_resources) {
    if (auto changed = with_resource(scenario, resource, step_up)) variants.push_back({resource, std::move(*changed)});
  }
  return variants;
}

struct Outcome {
  std::optional<RunResult> result;
  std::string failure;
};

Outcome outcome_of(const Scenario& scenario) {
  try {
    return {run(scenario), {}};
  } catch (const ConfigError& error) {
    return {std::nullopt, error.what()};
  }
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

SensitivityRow row_of(const Variant& variant, const std::vector<Outcome>& outcomes, const Scenario& unchanged_scenario,
                      const std::vector<RunResult>& unchanged, const std::vector<const Metric*>& metrics) {
  SensitivityRow row{.resource = *variant.resource, .shifts = {}, .failure = {}};
  std::vector<RunResult> runs;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.result) {
      row.failure = outcome.failure;
      row.shifts.resize(metrics.size());
      return row;
    }
    runs.push_back(*outcome.result);
  }
  for (const Metric* metric : metrics) {
    const std::vector<double> before = values_of(*metric, unchanged_scenario, unchanged);
    const std::vector<double> after = values_of(*metric, variant.scenario, runs);
    if (before.empty() || after.empty()) {
      row.shifts.emplace_back();
      continue;
    }
    Shift shift{.difference = estimate_difference(before, after), .relative = 0};
    if (const double base = mean(before); base != 0) shift.relative = shift.difference.mean / base;
    row.shifts.emplace_back(shift);
  }
  return row;
}

}  // namespace

double SensitivityRow::reach() const {
  double most = 0;
  for (const auto& shift : shifts) {
    if (shift) most = std::max(most, std::abs(shift->relative));
  }
  return most;
}

std::size_t sensitivity_runs(const Scenario& scenario, std::size_t replications) {
  return variants_of(scenario).size() * replications;
}

Sensitivity sensitivity(const Scenario& scenario, std::size_t replications, std::size_t jobs, const std::function<void(std::size_t)>& done) {
  const std::vector<Variant> variants = variants_of(scenario);
  const auto outcomes = parallel_map(variants.size() * replications, jobs, [&](std::size_t i) {
    const Scenario& variant = variants[i / replications].scenario;
    return outcome_of(with_seed(variant, scenario.seed + i % replications));
  }, done);
  const auto of_variant = [&](std::size_t variant) {
    const auto first = outcomes.begin() + static_cast<std::ptrdiff_t>(variant * replications);
    return std::vector<Outcome>(first, first + static_cast<std::ptrdiff_t>(replications));
  };

  Sensitivity sensitivity{.factor = step_up, .replications = replications};
  for (const char* name : {"request_goodput", "p99_ttft_ms", "p99_tpot_ms", "usd_per_million_output_tokens"}) {
    sensitivity.metrics.push_back(&find_metric(name, "sensitivity"));
  }
  std::vector<RunResult> unchanged;
  for (const Outcome& outcome : of_variant(0)) {
    if (!outcome.result) throw ConfigError(outcome.failure);
    unchanged.push_back(*outcome.result);
  }
  sensitivity.seeds_matter = seeds_matter(unchanged);
  for (const Metric* metric : sensitivity.metrics) {
    const std::vector<double> values = values_of(*metric, scenario, unchanged);
    sensitivity.unchanged.push_back(values.empty() ? std::nullopt : std::optional(mean(values)));
  }
  for (std::size_t i = 1; i < variants.size(); ++i) {
    sensitivity.rows.push_back(row_of(variants[i], of_variant(i), scenario, unchanged, sensitivity.metrics));
  }
  std::stable_sort(sensitivity.rows.begin(), sensitivity.rows.end(),
                   [](const SensitivityRow& a, const SensitivityRow& b) { return a.reach() > b.reach(); });
  if (scenario.cost.kind == CostKind::table) {
    sensitivity.notes.push_back("operators priced from the measured table keep their times: a table knows no other chip");
  }
  return sensitivity;
}

}  // namespace ridgeline
