#include "workloads/survey.hpp"

#include "workloads/source.hpp"
#include "workloads/traces/session_trace.hpp"

namespace ridgeline {

std::vector<std::string> survey(const WorkloadConfig& workload, std::int64_t most_rows) {
  if (!workload.trace || workload.arrival || has_sessions(*workload.trace)) return {};
  WorkloadConfig whole = workload;
  whole.num_prompts.reset();
  whole.duration.reset();
  const std::unique_ptr<WorkloadSource> source = make_source(whole, 0);
  for (std::int64_t rows = 0; rows < most_rows && source->next(); ++rows) {
  }
  if (const std::string quiet = quiet_start_warning(source->notes().statistics.rates); !quiet.empty()) return {quiet};
  return {};
}

}  // namespace ridgeline
