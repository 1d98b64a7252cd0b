// A look through a trace before it is replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/workload.hpp"

namespace ridgeline {

/// What a reader should know of the trace as a whole, whatever part of it is to be replayed: a start that is far quieter than the rest,
/// above all, from which every policy looks alike. Empty for workloads that are no trace with times of its own. Reads at most
/// `most_rows` rows. Throws ConfigError for an unreadable row, as the replay would.
std::vector<std::string> survey(const WorkloadConfig& workload, std::int64_t most_rows = 5'000'000);

}  // namespace ridgeline
