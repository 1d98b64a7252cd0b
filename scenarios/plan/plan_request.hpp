// A scenario's `plan:` section: what is asked, and among which fleets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/plan/spares.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

enum class PlanGoal : std::uint8_t {
  max_rate,        ///< the highest load that the scenario's fleet serves within the objective
  cheapest_fleet,  ///< the cheapest fleet that serves the scenario's load within the objective
  pareto,          ///< tokens per second and GPU against tokens per second and user
};

/// One GPU type on offer.
struct GpuOffer {
  Config gpu;                      ///< name or file, as written
  std::optional<Config> node;      ///< as in `fleet`
  std::optional<Config> calibration;
  std::optional<DollarsPerHour> price_low, price_high;  ///< absent: the catalog's price
  std::optional<int> max_gpus;     ///< no more than these can be had
};

/// Engine options to try: key and values, combined with each other.
using EngineAxis = std::pair<std::string, std::vector<Config>>;

struct PlanRequest {
  PlanGoal goal = PlanGoal::max_rate;
  SourceLocation where;              ///< of the section; of the document where it has none

  // The space of fleets.
  std::vector<GpuOffer> gpus;        ///< empty: every GPU with a dated price and a calibration of its own
  std::vector<EngineAxis> engine;    ///< tensor_parallel_size is always among them for cheapest-fleet and pareto
  int least_replicas = 1, most_replicas = 64;
  std::optional<int> max_gpus;
  std::optional<DollarsPerHour> max_price;
  bool mixed = false;

  std::optional<Availability> availability;
  double kv_margin = 0.10;           ///< closed loops without limits: the KV memory must hold this much more than the requests in
                                     ///< flight, since its size is predicted within 5 to 10 %
  int top = 5;                       ///< fleets to list, the cheapest of each GPU type or pair of them
  int replications = 3;              ///< seeds a fleet must pass; intervals come from them
  double tolerance = 0.01;           ///< of the highest rate
  std::optional<std::int64_t> num_prompts;  ///< of one run
  std::vector<std::int64_t> concurrency;    ///< pareto: requests in flight to try; empty: 1, 2, 4, … while their KV fits
  std::optional<int> gpus_per_fleet;        ///< pareto: every configuration gets replicas for so many GPUs; else one replica
};

/// Reads `plan:` of `document` (which may lack it) and settles the goal where the section leaves it open: `concurrency` asks for
/// pareto, a `fleet` without `candidates` for max-rate, anything else for cheapest-fleet. Mistakes go to `errors`.
PlanRequest read_plan(const Config& document, Diagnostics& errors);

std::string to_string(PlanGoal goal);

}  // namespace ridgeline
