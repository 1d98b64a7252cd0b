// How a workload's parts become one stream of requests.
#pragma once

#include "workloads/traces/trace_reader.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// What the workload leaves to its trace.
inline TraceNeeds trace_needs(const WorkloadConfig& workload) {
  return {!workload.arrival.has_value(), !workload.input_tokens.has_value(), !workload.output_tokens.has_value()};
}

/// The warning of a start that is far quieter than the rest; empty when there is none.
std::string quiet_start_warning(const WorkloadStatistics::Rates& rates);

/// What of the workload is not the trace's own, in words.
std::string describe_generated(const WorkloadConfig& workload);

}  // namespace ridgeline
