// A run whose requests come from somewhere else than the scenario's workload.
#pragma once

#include "scenarios/build/run.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// As `run`, with requests from `source`; the workload still says how many may be in flight.
RunResult run_with(const Scenario& scenario, WorkloadSource& source, const RunOptions& options = {});

}  // namespace ridgeline
