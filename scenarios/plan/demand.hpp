// What a workload asks of a fleet: its lengths and rate, measured on a sample, and the one number that makes it heavier or lighter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scenarios/load/scenario.hpp"

namespace ridgeline {

/// The number that scales a workload.
enum class LoadKnob : std::uint8_t {
  request_rate,     ///< requests per second
  rate_factor,      ///< traces, steps and ramps: multiplies their own rates
  max_concurrency,  ///< closed loop: requests in flight
};

/// Lengths as the fleet sees them, and how they arrive.
struct Demand {
  LoadKnob knob = LoadKnob::request_rate;
  double load = 0.0;             ///< the knob as the scenario sets it
  double request_rate = 0.0;     ///< per second, of the period planned for; 0 for closed loops
  double mean_input = 0.0;       ///< tokens a prompt that have to be computed (a shared prefix is cached)
  double mean_output = 0.0;
  double mean_context = 0.0;     ///< visible tokens, averaged over decode steps
  Tokens tail_input;             ///< prompt at the objective's percentile
  Tokens tail_output;
  Tokens longest;                ///< prompt and output of the longest request
  std::int64_t requests = 0;     ///< of one run
  std::string busiest;           ///< "the steps' busiest rate, 12/s" where only that is planned for; else empty
};

/// The share of requests that an SLO wants within its limits: 0.99 for p99, the goodput share, or 0.99.
double share_of(const Slo& slo);

/// The part of the workload to plan for, long enough for its percentile to mean something: `steps` are cut to their busiest rate,
/// generated requests are as many as arrive in 300 s and in 100 TTFT limits, and at least 5,000 (50 beyond the p99); `num_prompts`
/// states the number instead. Traces and closed loops stay as they are.
WorkloadConfig planned_workload(const Scenario& scenario, std::optional<std::int64_t> num_prompts);

/// Measures up to 20,000 requests of `scenario.workload`. Throws ConfigError for an unreadable trace.
Demand measure_demand(const Scenario& scenario);

/// The same requests, arriving at another load.
WorkloadConfig at_load(const WorkloadConfig& workload, LoadKnob knob, double load);

/// "12.3 requests/s", "1.3 x the trace's rate", "24 requests in flight".
std::string load_text(LoadKnob knob, double load);

}  // namespace ridgeline
