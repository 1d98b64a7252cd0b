// ServeGen (github.com/alibaba/ServeGen, arXiv 2505.09999): clients of a production cluster, each with its rate and
// burstiness over time and its lengths, from which requests are generated.
#pragma once

#include <memory>
#include <string>

#include "sim/base/config.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// `servegen:`, a folder of `chunk-N-trace.csv` and `chunk-N-dataset.json`, or a map.
struct ServegenConfig {
  std::string folder;       ///< absolute
  Duration start;           ///< the part of the clients' history to generate; `start` becomes time zero
  Duration end;             ///< zero: to the end of their windows
  double rate_scale = 1.0;  ///< of every client's rate
};

/// Reads `servegen:` and looks for client files.
ServegenConfig read_servegen(const Config& node, Diagnostics& errors);
/// As YAML in flow style, readable by `read_servegen`.
std::string to_yaml(const ServegenConfig& servegen);

class WorkloadSource;
struct WorkloadConfig;
/// The superposition of all clients.
std::unique_ptr<WorkloadSource> make_servegen_source(const WorkloadConfig& workload, std::uint64_t seed);

}  // namespace ridgeline
