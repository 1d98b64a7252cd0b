// What one replica can at best do, from step prices alone: the bounds that spare the planner simulations.
#pragma once

#include <string>

#include "scenarios/load/scenario.hpp"
#include "scenarios/plan/demand.hpp"

namespace ridgeline {

/// Capacity of a replica whose step prices bound nothing.
inline constexpr double unbounded_capacity = 1e12;

struct ReplicaBounds {
  // Of a request that has the replica to itself, at the objective's percentile of prompt and output lengths.
  Duration ttft;
  Duration tpot;
  Duration e2el;
  double capacity = 0.0;   ///< upper bound: requests per second, or requests held at once where the load is requests in flight
  std::string limited_by;  ///< what bounds `capacity`: "work", "batch", "TPOT", "KV memory"
  double held = 0.0;       ///< requests of the longest length whose KV fits at once
};

/// Bounds of one replica of `pool` under the planned workload. Requests per second are at most the least of
///  - work: 1 / (rows x cheapest price a row + attention of the prompt and of every decode step at its best batch + sampling);
///  - batch: decode rate at the largest batch that `max_num_seqs` and the KV memory allow;
///  - TPOT: decode rate at the largest batch whose step keeps the TPOT limit (steps are near affine in the batch, so an average
///    step within the limit means an average batch below that one).
/// Parts whose price depends on luck (speculation, dropped KV, cached prompts of traces) are left out, which keeps the bound a bound.
ReplicaBounds replica_bounds(const Scenario& scenario, const Pool& pool, const Demand& demand);

}  // namespace ridgeline
