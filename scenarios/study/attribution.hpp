// Which changed key moved what: each key that sets two scenarios apart changed alone.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"
#include "scenarios/study/estimate.hpp"

namespace ridgeline {

/// By metric, in the order of `metrics()`; null where one side has no such figure.
using MetricEstimates = std::vector<std::optional<Estimate>>;

/// One side of a comparison: as written, as resolved, and its replications.
struct StudiedScenario {
  std::string label;
  Config document;
  Scenario scenario;
  std::vector<RunResult> runs;
};

/// What changing one key of the first scenario to the second's value does.
struct KeyEffect {
  std::string key;                  ///< "fleet[0].gpu"
  std::string from, to;             ///< as written; "(default)" where nothing is
  std::string obstacle;             ///< why it can't be changed alone; empty when it was
  MetricEstimates effects;          ///< empty with an obstacle
};

struct Attribution {
  std::vector<KeyEffect> keys;
  /// Total difference minus the effects: what keys do together, and what those with an obstacle do.
  MetricEstimates remainder;
};

/// Changes of written keys that change the resolved scenario, one at a time: keys of a pool (`engine:` and `model:` at the top counted as
/// the pools'), of its engine, of the workload, the objective, the router and the cost model. Defaults that follow from a key (a GPU's node and price) move
/// with it. Names and seeds do not count. Fleets of unequal length are one key.
/// Every change runs as many replications as `from` has, on the same random numbers; `done` hears of each run.
Attribution attribute(const StudiedScenario& from, const StudiedScenario& to, std::size_t jobs, const std::function<void()>& done = {});

/// `to - from`, metric by metric, paired by replication.
MetricEstimates differences(const StudiedScenario& from, const StudiedScenario& to);

}  // namespace ridgeline
