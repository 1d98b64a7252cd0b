// `alternatives:` and `sweep:`: one document becomes many, before anything runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/config.hpp"

namespace ridgeline {

/// One scenario of several.
struct ScenarioPoint {
  std::string label;  ///< "h100, engine.tensor_parallel_size=2"; empty when the document describes one scenario
  std::vector<std::pair<std::string, std::string>> values;  ///< what sets it apart: (key path or "alternative", value or its name)
  Config document;    ///< without `alternatives:` and `sweep:`
};

/// All combinations, alternatives outermost, then the swept keys in file order, the last one fastest:
///
///     alternatives:                       # named overlays, merged onto the scenario key by key
///       h100: {fleet: [{gpu: h100-sxm-80gb}]}
///     sweep:
///       engine.max_num_seqs: [32, 64, 128]                                    # a list, on any key path
///       workload.request_rate: {from: 1, to: 16, steps: 5, scale: log}   # a range (`integer: true` rounds)
///       engine.speculative_config: {named: {off: null, ngram: {method: …}}}   # values with names for labels and columns
///       paired:                                                               # the i-th values of all keys together
///         fleet[0].gpu: [h100-sxm-80gb, a100-sxm-80gb]
///         fleet[0].replicas: [2, 4]
///       skip: […]                                                             # not read here: scenarios/sweep/skip_rules.hpp
///
/// `paired` may be a list of such maps, each counting as one axis. Throws ConfigError: malformed lists, pairs of unequal length, a key
/// swept twice, paths that lead nowhere, more than 100,000 points.
std::vector<ScenarioPoint> expand(const Config& document);

}  // namespace ridgeline
