// Where the time of a run's requests went.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "sim/metrics/time_attribution.hpp"

namespace ridgeline {

/// Some of the requests, on average. Parts sum to the mean latency, rounded down to a picosecond.
struct RequestGroup {
  std::int64_t requests = 0;
  std::int64_t decoding = 0;  ///< of those, with more than one output token: only they have a TPOT
  TimeParts ttft;
  TimeParts tpot;
};

struct NamedGroup {
  std::string name;  ///< of a pool
  RequestGroup group;
};

struct Breakdown {
  RequestGroup all;
  std::optional<RequestGroup> missed;  ///< broke a limit of the SLO; absent without an SLO
  std::vector<NamedGroup> pools;       ///< where there are several
  /// Between the two requests around the rank, as the percentile is (docs/metrics.md): sums to the reported value.
  TimeParts ttft_p50, ttft_p99, tpot_p50, tpot_p99;
};

/// Runs the scenario and takes its latencies apart. `result` is that of a plain run; further observers may listen.
Breakdown break_down(const Scenario& scenario, RunResult& result, RunOptions options = {});

/// From finished requests; `pools` names them by number.
Breakdown break_down(const std::vector<RequestTime>& requests, const std::vector<std::string>& pools, bool has_slo);

}  // namespace ridgeline
