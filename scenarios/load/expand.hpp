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
  std::vector<std::pair<std::string, std::string>> values;  ///< what sets it apart: (key path or "alternative", value as text)
  Config document;    ///< without `alternatives:` and `sweep:`
};

/// All combinations, alternatives outermost, then the swept keys in file order, the last one fastest:
///
///     alternatives:                       # named overlays, merged onto the scenario key by key
///       h100: {fleet: [{gpu: h100-sxm-80gb}]}
///     sweep:                              # lists, or ranges, on any key path
///       engine.max_num_seqs: [32, 64, 128]
///       workload.request_rate: {from: 1, to: 16, steps: 5, scale: log}
///
/// Throws ConfigError: malformed lists, paths that lead nowhere, more than 100,000 points.
std::vector<ScenarioPoint> expand(const Config& document);

}  // namespace ridgeline
