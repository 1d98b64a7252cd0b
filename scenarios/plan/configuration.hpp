// The kinds of replicas a plan may build fleets of: every combination of the candidates, resolved once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/scenario.hpp"
#include "scenarios/plan/plan_request.hpp"

namespace ridgeline {

/// Why a configuration is out before anything is simulated.
enum class Refusal : std::uint8_t {
  none,
  memory,      ///< weights or one longest request do not fit
  impossible,  ///< the engine, model or GPU can't do it (degree does not divide the heads, no such kernel, …)
};

/// One kind of replica.
struct Configuration {
  std::string label;      ///< "h100-sxm-80gb TP2 kv_cache_dtype=fp8": what sets it apart
  Config pool;            ///< its map in `fleet`, one replica
  Refusal refusal = Refusal::none;
  std::vector<Diagnostic> why;  ///< of the refusal
  Scenario scenario;      ///< the document with one such replica as fleet; only when not refused
  DollarsPerHour price_low, price_high;  ///< of one replica
  std::optional<int> max_gpus;           ///< of its GPU type

  [[nodiscard]] const Pool& replica() const { return scenario.fleet.front(); }
  [[nodiscard]] double price() const { return (price_low.count() + price_high.count()) / 2; }
};

/// All combinations: GPUs outermost, then the engine options in file order, the last one fastest. `document` has neither `plan`
/// nor `fleet`. Throws ConfigError: mistakes that every configuration shares, no priced GPU, more than 10,000 combinations.
std::vector<Configuration> configurations(const Config& document, const PlanRequest& request);

/// The scenario with `replicas` of each configuration as fleet.
Scenario scenario_of_fleet(const std::vector<std::pair<const Configuration*, int>>& fleet);

}  // namespace ridgeline
