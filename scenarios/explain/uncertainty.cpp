#include "scenarios/explain/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <boost/math/distributions/normal.hpp>
#include <fmt/format.h>

#include "hardware/calibration.hpp"
#include "scenarios/build/price_families.hpp"
#include "scenarios/load/engine_profiles.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/text.hpp"
#include "scenarios/study/parallel.hpp"
#include "sim/base/rng.hpp"
#include "sim/metrics/time_parts.hpp"

namespace ridgeline {

namespace {

constexpr const char* host = "host";

// Host time as the engine profile guesses it; a stated one is not doubted.
bool host_is_guessed(const Pool& pool) {
  const EngineProfile* profile = find_engine_profile(pool.engine.profile);
  return profile != nullptr && profile->host.per_step == pool.host.per_step && profile->host.per_sequence == pool.host.per_sequence;
}

std::vector<UncertainPrice> uncertain_prices(const Scenario& scenario, const Pool& pool) {
  std::vector<UncertainPrice> prices;
  if (scenario.cost.kind == CostKind::constant) return prices;
  for (const PriceFamily& family : price_families(scenario, pool)) {
    if (family.error > 0) prices.push_back({family.name, family.gpu.empty() ? pool.gpu->name : family.gpu, family.error});
  }
  if (host_is_guessed(pool)) prices.push_back({host, pool.engine.profile, datasheet_error});
  return prices;
}

bool same(const UncertainPrice& a, const UncertainPrice& b) { return a.family == b.family && a.gpu == b.gpu && a.error == b.error; }

// The n strata of the normal distribution's middle, in an order of the factor's own.
std::vector<double> stratified_normals(const UncertainPrice& price, std::uint64_t seed, std::size_t draws) {
  std::vector<std::size_t> order(draws);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream stream(seed, price.family + "@" + price.gpu, "uncertainty");
  for (std::size_t i = draws; i > 1; --i) std::swap(order[i - 1], order[static_cast<std::size_t>(stream.uniform() * static_cast<double>(i))]);
  const boost::math::normal normal;
  std::vector<double> normals;
  for (const std::size_t stratum : order) {
    normals.push_back(boost::math::quantile(normal, (static_cast<double>(stratum) + 0.5) / static_cast<double>(draws)));
  }
  return normals;
}

/// Another device whose prices are off by a factor a family. Prices read off a measured table are right.
class MisjudgedDevice final : public DeviceModel {
 public:
  MisjudgedDevice(std::shared_ptr<const DeviceModel> device, std::vector<std::pair<std::string, double>> factors)
      : device_(std::move(device)), factors_(std::move(factors)) {}

  [[nodiscard]] OpPrice price(const Op& op) const override {
    OpPrice price = device_->price(op);
    if (price.provenance == Provenance::measured) return price;
    const std::string_view family = price_family_of(op);
    for (const auto& [name, factor] : factors_) {
      if (name != family) continue;
      price.time = Duration{std::llround(price.time.as_double() * factor)};
      price.by_cause = scaled_to(price.by_cause, price.time);
    }
    return price;
  }

 private:
  std::shared_ptr<const DeviceModel> device_;
  std::vector<std::pair<std::string, double>> factors_;  // by family
};

// Log-normal factors of every draw: factors[price][draw].
using Factors = std::vector<std::vector<double>>;

Factors draw_factors(const std::vector<UncertainPrice>& prices, std::uint64_t seed, std::size_t draws) {
  Factors factors;
  for (const UncertainPrice& price : prices) {
    // E|exp(s z) - 1| = s sqrt(2 / pi) for small s.
    const double sigma = price.error * std::sqrt(std::numbers::pi / 2);
    std::vector<double> values = stratified_normals(price, seed, draws);
    for (double& value : values) value = std::exp(sigma * value);
    factors.push_back(std::move(values));
  }
  return factors;
}

RunResult misjudged_run(Scenario scenario, const std::vector<UncertainPrice>& prices, const Factors& factors, std::size_t draw) {
  const auto factors_of = [&](const Pool& pool) {
    std::vector<std::pair<std::string, double>> own;
    for (const UncertainPrice& price : uncertain_prices(scenario, pool)) {
      const auto at = std::find_if(prices.begin(), prices.end(), [&](const UncertainPrice& p) { return same(p, price); });
      own.emplace_back(price.family, factors[static_cast<std::size_t>(at - prices.begin())][draw]);
    }
    return own;
  };
  std::vector<std::vector<std::pair<std::string, double>>> by_pool;
  for (const Pool& pool : scenario.fleet) by_pool.push_back(factors_of(pool));
  for (std::size_t i = 0; i < scenario.fleet.size(); ++i) {
    HostOverhead& overhead = scenario.fleet[i].host;
    for (const auto& [family, factor] : by_pool[i]) {
      if (family != host) continue;
      overhead.per_step = Duration{std::llround(overhead.per_step.as_double() * factor)};
      overhead.per_sequence = Duration{std::llround(overhead.per_sequence.as_double() * factor)};
    }
  }
  RunOptions options;
  options.adjust_device = [&](const Pool& pool, std::shared_ptr<const DeviceModel> device) {
    const auto index = static_cast<std::size_t>(&pool - scenario.fleet.data());
    return std::make_shared<MisjudgedDevice>(std::move(device), by_pool[index]);
  };
  return run(scenario, options);
}

double quantile(const std::vector<double>& sorted, double share) {
  const double rank = static_cast<double>(sorted.size() - 1) * share;
  const auto lower = static_cast<std::size_t>(rank);
  const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
  return sorted[lower] + (sorted[upper] - sorted[lower]) * (rank - static_cast<double>(lower));
}

std::vector<UncertainFigure> figures_of(const Scenario& scenario, const RunResult& unchanged, const std::vector<RunResult>& runs) {
  std::vector<UncertainFigure> figures;
  for (const char* name : {"mean_ttft_ms", "p50_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p50_tpot_ms", "p99_tpot_ms", "request_goodput",
                           "request_throughput", "output_throughput", "usd_per_million_output_tokens"}) {
    const Metric& metric = find_metric(name, "uncertainty");
    const std::optional<double> plain = metric.value(scenario, unchanged.metrics);
    if (!plain) continue;
    std::vector<double> values;
    for (const RunResult& result : runs) {
      if (const auto value = metric.value(scenario, result.metrics)) values.push_back(*value);
    }
    if (values.size() != runs.size()) continue;
    std::sort(values.begin(), values.end());
    figures.push_back({&metric, *plain, quantile(values, 0.05), quantile(values, 0.5), quantile(values, 0.95)});
  }
  return figures;
}

std::vector<std::string> warnings_of(const Uncertainty& result) {
  std::vector<std::string> warnings;
  const auto inside = [&](std::size_t count) { return count > 0 && count < result.draws; };
  if (inside(result.saturated)) {
    warnings.push_back(fmt::format("the knee lies within the prices' uncertainty: the fleet saturates in {} of {} draws, so its latencies are "
                                   "not determined", result.saturated, result.draws));
  }
  if (result.slo_met && inside(*result.slo_met)) {
    warnings.push_back(fmt::format("the edge of the SLO lies within the prices' uncertainty: it is met in {} of {} draws", *result.slo_met,
                                   result.draws));
  }
  std::string wide;
  for (const UncertainFigure& f : result.figures) {
    if (f.undetermined()) wide += fmt::format("{}{} ({} to {})", wide.empty() ? "" : ", ", f.metric->label, figure(f.low), figure(f.high));
  }
  if (!wide.empty()) warnings.push_back("not determined to a factor of two: " + wide);
  return warnings;
}

}  // namespace

std::vector<UncertainPrice> uncertain_prices(const Scenario& scenario) {
  std::vector<UncertainPrice> all;
  for (const Pool& pool : scenario.fleet) {
    for (UncertainPrice& price : uncertain_prices(scenario, pool)) {
      if (std::none_of(all.begin(), all.end(), [&](const UncertainPrice& p) { return same(p, price); })) all.push_back(std::move(price));
    }
  }
  return all;
}

Uncertainty uncertainty(const Scenario& scenario, const RunResult& unchanged, std::size_t draws, std::size_t jobs,
                        const std::function<void(std::size_t)>& done) {
  Uncertainty result{.draws = draws, .prices = uncertain_prices(scenario), .figures = {}, .slo_met = {}, .warnings = {}};
  if (result.prices.empty() || draws == 0) return result;
  const Factors factors = draw_factors(result.prices, scenario.seed, draws);
  const std::vector<RunResult> runs =
      parallel_map(draws, jobs, [&](std::size_t draw) { return misjudged_run(scenario, result.prices, factors, draw); }, done);
  result.figures = figures_of(scenario, unchanged, runs);
  for (const RunResult& one : runs) {
    if (one.metrics.saturated) ++result.saturated;
    if (const auto met = meets(scenario.slo, one.metrics)) result.slo_met = result.slo_met.value_or(0) + (*met ? 1 : 0);
  }
  result.warnings = warnings_of(result);
  return result;
}

}  // namespace ridgeline
