#include "scenarios/study/comparison.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/study/metric.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/replications.hpp"

namespace ridgeline {

namespace {

class Comparing {
 public:
  Comparing(std::vector<StudiedScenario> scenarios, const ComparisonOptions& options)
      : options_(options), metric_(find_metric(options.metric, "--metric")) {
    result_.scenarios = std::move(scenarios);
    result_.metric = options.metric;
    result_.target = options.target;
    const std::uint64_t seed = result_.scenarios.front().scenario.seed;
    for (StudiedScenario& side : result_.scenarios) side.scenario = with_seed(std::move(side.scenario), seed);
    const auto workload = [](const StudiedScenario& side) { return to_json(*side.scenario.resolved.find("workload")); };
    for (const StudiedScenario& side : result_.scenarios) {
      result_.same_workload = result_.same_workload && workload(side) == workload(result_.scenarios.front());
    }
  }

  Comparison compare() {
    run_until_narrow();
    for (const StudiedScenario& side : result_.scenarios) {
      const bool first = &side == &result_.scenarios.front();
      result_.values.push_back(estimates(side));
      result_.differences.push_back(first ? MetricEstimates() : differences(result_.scenarios.front(), side));
      result_.attributions.push_back(first || !options_.attribution ? Attribution()
                                                                    : attribute(result_.scenarios.front(), side, options_.jobs, [&] { tick(); }));
    }
    return std::move(result_);
  }

 private:
  void run_until_narrow() {
    // Two tell whether chance plays a part at all.
    run_up_to(2);
    check_metric();
    result_.seeds_matter = std::any_of(result_.scenarios.begin(), result_.scenarios.end(), [](const auto& side) { return seeds_matter(side.runs); });
    if (!result_.seeds_matter) {
      result_.target_met = true;
      return;
    }
    run_up_to(options_.least_replications);
    while (true) {
      const double width_over_target = widest_over_target();
      result_.target_met = width_over_target <= 1;
      if (result_.target_met || result_.replications >= options_.most_replications) return;
      // The width falls as 1 / sqrt(n); at most twice as many at once, since the estimate of the spread is rough.
      const double n = static_cast<double>(result_.replications);
      const double wanted = std::clamp(std::ceil(n * width_over_target * width_over_target), n + 1, 2 * n);
      run_up_to(std::min(options_.most_replications, static_cast<std::size_t>(wanted)));
    }
  }

  void run_up_to(std::size_t count) {
    const std::size_t have = result_.replications;
    if (count <= have) return;
    const std::size_t sides = result_.scenarios.size();
    planned_ += (count - have) * sides;
    std::vector<RunResult> runs = parallel_map((count - have) * sides, options_.jobs, [&](std::size_t i) {
      const Scenario& scenario = result_.scenarios[i % sides].scenario;
      return run(with_seed(scenario, scenario.seed + have + i / sides));
    }, [&](std::size_t) { tick(); });
    for (std::size_t i = 0; i < runs.size(); ++i) result_.scenarios[i % sides].runs.push_back(std::move(runs[i]));
    result_.replications = count;
  }

  void tick() {
    ++done_;
    planned_ = std::max(planned_, done_);
    if (options_.progress) options_.progress(done_, planned_);
  }

  void check_metric() const {
    for (const StudiedScenario& side : result_.scenarios) {
      if (values_of(metric_, side.scenario, side.runs).empty()) {
        throw ConfigError(fmt::format("--metric: `{}` has no value in `{}`", metric_.name, side.label));
      }
    }
  }

  // The widest half-width of the metric's differences, as a multiple of the target.
  [[nodiscard]] double widest_over_target() const {
    const StudiedScenario& first = result_.scenarios.front();
    const std::vector<double> base = values_of(metric_, first.scenario, first.runs);
    const double target = options_.target.half_width * (options_.target.relative ? std::abs(estimate(base).mean) : 1.0);
    double widest = 0;
    for (std::size_t i = 1; i < result_.scenarios.size(); ++i) {
      const StudiedScenario& side = result_.scenarios[i];
      widest = std::max(widest, estimate_difference(base, values_of(metric_, side.scenario, side.runs)).half_width);
    }
    if (widest == 0) return 0;
    return target > 0 ? widest / target : std::numeric_limits<double>::infinity();
  }

  static MetricEstimates estimates(const StudiedScenario& side) {
    MetricEstimates list;
    for (const Metric& metric : metrics()) {
      const std::vector<double> values = values_of(metric, side.scenario, side.runs);
      list.push_back(values.empty() ? std::nullopt : std::optional(estimate(values)));
    }
    return list;
  }

  const ComparisonOptions& options_;
  const Metric& metric_;
  Comparison result_;
  std::size_t planned_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

Target parse_target(const std::string& text, const std::string& source) {
  Target target{.relative = text.ends_with('%')};
  const char* end = text.data() + text.size() - (target.relative ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, target.half_width);
  if (error != std::errc{} || stop != end || !(target.half_width > 0) || !std::isfinite(target.half_width)) {
    throw ConfigError(fmt::format("{}: expected a positive number in the metric's unit, or a share like 5%, got `{}`", source, text));
  }
  if (target.relative) target.half_width /= 100;
  return target;
}

Comparison compare(std::vector<StudiedScenario> scenarios, const ComparisonOptions& options) {
  return Comparing(std::move(scenarios), options).compare();
}

}  // namespace ridgeline
