// The same scenario under several seeds: independent samples of every figure.
//
// Replication i of every scenario has the seed `scenario.seed + i`, and the workload's random streams depend on the seed alone. So
// replication i of one scenario met the same requests as replication i of another with the same `workload:`: common random numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"
#include "scenarios/study/estimate.hpp"
#include "scenarios/study/metric.hpp"

namespace ridgeline {

/// The scenario under another seed, `resolved` included.
Scenario with_seed(Scenario scenario, std::uint64_t seed);

/// Runs replications [first, first + count), on `jobs` threads; results in their order. `done`: see parallel_for.
std::vector<RunResult> replicate(const Scenario& scenario, std::size_t first, std::size_t count, std::size_t jobs,
                                 const std::function<void(std::size_t)>& done = {});

/// The metric of every run. Empty when any of the runs has no such figure: an interval over the others would be of something else.
std::vector<double> values_of(const Metric& metric, const Scenario& scenario, const std::vector<RunResult>& runs);

/// Do the runs differ at all? A trace replayed with its own times and lengths is the same under every seed; an interval over
/// such runs has no width and says nothing about other days.
bool seeds_matter(const std::vector<RunResult>& runs);

}  // namespace ridgeline
