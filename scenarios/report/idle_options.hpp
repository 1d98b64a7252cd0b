// Which engine options could not matter in a run, and why: so that a toggled flag without a difference is no riddle.
#pragma once

#include <string>
#include <vector>

#include "scenarios/build/run.hpp"

namespace ridgeline {

/// One line an option: "pool-0: max_num_seqs: at most 12 requests ran at once, the limit is 256".
std::vector<std::string> options_without_effect(const Scenario& scenario, const RunResult& result);

}  // namespace ridgeline
