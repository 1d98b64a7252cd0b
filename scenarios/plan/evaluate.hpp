// A fleet under the planned load: does it meet the objective, and with which figures?
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"
#include "scenarios/study/estimate.hpp"

namespace ridgeline {

/// What a run says about the objective.
struct Verdict {
  bool met = false;
  std::string misses;  ///< "TTFT p99 1.31 s", "the queue grows"; empty when met
};

/// Met: not saturated, every limit kept at the objective's percentile or share. Without limits an open loop must not saturate
/// and a closed loop must keep all its requests resident (no preemption).
Verdict judge(const Slo& slo, bool closed_loop, const RunMetrics& metrics);

/// Figures of a fleet at one load: means over the replications, with their 95 % intervals.
struct FleetFigures {
  std::size_t replications = 0;
  std::size_t met = 0;          ///< of them
  std::string misses;           ///< of the first that missed
  std::optional<Estimate> ttft_p50_ms, ttft_ms, tpot_p50_ms, tpot_ms, e2el_ms;  ///< the latter at the objective's percentile
  std::optional<Estimate> slo_attainment;
  Estimate request_throughput, output_throughput, total_token_throughput;
  std::optional<Estimate> usd_per_million_output_tokens;
  std::optional<Estimate> watts;                  ///< of all GPUs
  Estimate busy, kv_cache_usage_peak, running;    ///< running: requests in batches, all replicas together
  std::int64_t preemptions = 0;                   ///< in all replications
};

FleetFigures figures_of(const Scenario& scenario, const std::vector<RunResult>& runs);

/// The percentile that latencies are quoted at: the objective's, else 99.
double quoted_percentile(const Slo& slo);

/// How a plan is computed.
struct PlanOptions {
  std::size_t jobs = 1;
  std::function<void(std::int64_t simulations)> progress;  ///< called now and then, from one thread at a time; may be empty
};

/// Runs replications and counts them.
class Evaluator {
 public:
  Evaluator(std::size_t replications, PlanOptions options) : replications_(replications), options_(std::move(options)) {}

  /// All replications.
  FleetFigures all(const Scenario& scenario);
  /// Replications until the first that misses: one run settles most fleets that are too small. The answer does not depend on `jobs`.
  FleetFigures until_missed(const Scenario& scenario);
  /// One run of replication `index`.
  RunResult one(const Scenario& scenario, std::size_t index);

  /// Runs so far.
  [[nodiscard]] std::int64_t simulations() const { return simulations_; }
  [[nodiscard]] std::size_t replications() const { return replications_; }
  [[nodiscard]] std::size_t jobs() const { return options_.jobs; }
  /// For those who run by themselves, on any thread.
  void count_run();

 private:
  std::vector<RunResult> runs(const Scenario& scenario, std::size_t first, std::size_t count);

  std::size_t replications_;
  PlanOptions options_;
  std::mutex counting_;  // guards simulations_ while threads run
  std::int64_t simulations_ = 0;
};

}  // namespace ridgeline
