// The figures of a run by name: one list for sweeps, comparisons, plans and sensitivities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

/// Which way a figure improves.
enum class Better : std::uint8_t { neither, lower, higher };

/// Named as in the JSON of `run` (those of `fleet` without that prefix, nested ones joined: `kv_cache_usage_peak`).
struct Metric {
  std::string name;
  std::string label;  ///< for tables, with its unit: "TTFT p99, ms"
  Better better = Better::neither;
  bool whole = false;  ///< a count: printed without decimals
  /// Nullopt where the run has no such figure: latencies of nothing, costs without a price, goodput without an SLO.
  std::function<std::optional<double>(const Scenario&, const RunMetrics&)> value;
};

/// All of them, in the order in which results list them.
const std::vector<Metric>& metrics();

/// Its place in `metrics()`; throws InternalError for a name that is not there.
std::size_t metric_index(std::string_view name);

/// Throws ConfigError with near matches; `source` ("--metric") begins the message.
const Metric& find_metric(const std::string& name, const std::string& source);

}  // namespace ridgeline
