// What to tell a user whose objective nothing can meet: reasons with figures, and what would help.
#pragma once

#include <string>
#include <vector>

#include "scenarios/plan/configuration.hpp"
#include "scenarios/plan/replica_bounds.hpp"

namespace ridgeline {

/// "one request takes 1.21 s to its first token" where a limit can't be kept even by a request that has a replica to itself; else empty.
std::string slower_alone_than(const Slo& slo, const ReplicaBounds& alone, const Demand& demand);

/// Sentences for an infeasible search, most useful first. Other degrees of tensor parallelism, other GPUs of the catalog and other
/// token budgets are priced for one request alone; the limit that would do is named.
std::vector<std::string> advice_for_infeasible(const std::vector<Configuration>& configurations, const Scenario& planned, const Demand& demand);

}  // namespace ridgeline
