// Scenario -> Simulation -> RunResult: one pure function. Runs share nothing mutable, so they may go side by side on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/build/step_cost.hpp"
#include "scenarios/load/scenario.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/serving/facts.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// What a run is asked for beside its metrics.
struct RunOptions {
  std::vector<Observer*> observers;  ///< step logs, traces, request files; must outlive the run
  bool log_steps = false;            ///< observers want StepDone::rows
  bool exact_steps = false;          ///< reference mode: every step walked by itself, every KV block named; same results
  AdjustDevice adjust_device;        ///< what-if prices; may be empty
  /// Called now and then with the number of requests finished; for progress bars. May be empty.
  std::function<void(std::int64_t finished)> progress;
};

struct RunResult {
  RunMetrics metrics;
  WorkloadNotes workload;
  std::uint64_t events = 0;
  std::uint64_t fingerprint = 0;  ///< equal runs have equal fingerprints (EventQueue::fingerprint)
};

/// Runs the scenario to its last token. Throws ConfigError for unreadable trace rows or requests no replica can serve.
RunResult run(const Scenario& scenario, const RunOptions& options = {});

}  // namespace ridgeline
