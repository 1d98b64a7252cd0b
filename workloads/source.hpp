// How a workload's parts become one stream of requests.
#pragma once

#include "workloads/traces/trace_reader.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// What the workload leaves to its trace.
inline TraceNeeds trace_needs(const WorkloadConfig& workload) {
  return {!workload.arrival.has_value(), !workload.input_tokens.has_value(), !workload.output_tokens.has_value()};
}

}  // namespace ridgeline
