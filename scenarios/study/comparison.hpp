// Scenarios set side by side on common random numbers: every figure with its difference to the first scenario's, and how sure it is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/study/attribution.hpp"
#include "scenarios/study/estimate.hpp"

namespace ridgeline {

/// How narrow an interval has to be.
struct Target {
  double half_width = 0.05;
  bool relative = true;  ///< a share of the first scenario's mean; else in the metric's unit
};

/// "5%" or "2.5". Throws ConfigError; `source` ("--target") begins the message.
Target parse_target(const std::string& text, const std::string& source);

struct ComparisonOptions {
  std::string metric = "mean_e2el_ms";  ///< whose differences decide when to stop
  Target target;
  std::size_t least_replications = 5;
  std::size_t most_replications = 30;
  std::size_t jobs = 1;
  bool attribution = true;
  std::function<void(std::size_t done, std::size_t planned)> progress;  ///< runs; `planned` may grow
};

struct Comparison {
  std::vector<StudiedScenario> scenarios;  ///< the first is what the others are compared with
  std::vector<MetricEstimates> values;       ///< by scenario
  std::vector<MetricEstimates> differences;  ///< to the first; [0] is empty
  std::vector<Attribution> attributions;     ///< of `differences`; [0] is empty, all are without `attribution`

  std::string metric;
  Target target;
  std::size_t replications = 0;
  bool target_met = false;
  bool seeds_matter = true;    ///< false: chance plays no part, so two replications said everything
  bool same_workload = true;   ///< all scenarios met the same requests
};

/// Replication i of every scenario runs with the first scenario's seed + i. After `least_replications`, more are run until the half-width
/// of the metric's difference (95 %) is within the target for every scenario, or `most_replications` are done. Does not depend on `jobs`.
/// `scenarios` come with label, document and scenario; at least two. Throws ConfigError for an unknown metric, one without a value,
/// and runs that can't reach their end.
Comparison compare(std::vector<StudiedScenario> scenarios, const ComparisonOptions& options);

}  // namespace ridgeline
