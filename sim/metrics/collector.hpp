// Listens to a run and sums it up. Memory: 24 bytes a finished request, up to Distribution::exact_samples of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/wide.hpp"
#include "sim/metrics/batch_means.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/serving/facts.hpp"

namespace ridgeline {

class MetricsCollector final : public Observer {
 public:
  /// `replica_pool[i]` = pool of replica i.
  MetricsCollector(std::vector<PoolFacts> pools, std::vector<std::uint32_t> replica_pool, ServiceLevel slo);

  void arrived(const Request& request, Time now) override;
  void admitted(const Request& request, Tokens cached, Time now) override;
  void preempted(const Request& request, Time now) override;
  void first_token(const Request& request, Time now) override;
  void chunks(const ChunksEmitted& fact) override;
  void verified(PoolId pool, const DraftsVerified& drafts) override;
  void swapped(PoolId pool, const HostTraffic& with_next_step) override;
  void kv_evicted(PoolId pool, Tokens dropped) override;
  void offloaded(PoolId pool, const HostTraffic& started) override;
  void cache_evicted(PoolId pool, std::int64_t blocks) override;
  void step_done(const StepDone& fact) override;
  void finished(const Request& request, Time now) override;
  [[nodiscard]] bool takes_runs() const override { return true; }
  void run_done(const DecodeRun& fact) override;

  /// The figures, once the run has ended.
  [[nodiscard]] RunMetrics metrics() const;

 private:
  // A count that is constant between changes, integrated over time: exactly, so that the order of equal instants is free.
  struct OverTime {
    Int128 integral = 0;  // count * picoseconds
    std::int64_t value = 0;
    Time since;
    void set(Time now, std::int64_t next) {
      if (next == value) return;
      integral += wide_product(value, (now - since).picoseconds());
      since = now;
      value = next;
    }
    [[nodiscard]] double seconds_until(Time end) const {
      return static_cast<double>(integral + wide_product(value, (end - since).picoseconds())) * 1e-12;
    }
  };
  // Summed in the order of the replica's own steps; replicas are added up in the end, by number.
  struct ReplicaSums {
    OverTime used_blocks, queue, running;
    std::int64_t total_blocks = 0;
    std::int64_t most_used_blocks = 0;
    std::int64_t longest_queue = 0;
    std::int64_t most_running = 0;
    std::int64_t most_step_tokens = 0;
    std::int64_t steps = 0;
    std::int64_t scheduled_tokens = 0;
    std::int64_t most_host_blocks = 0;
    Duration busy;
    Duration queueing;  // busy, and requests still waited
    TimeByCause by_cause;
    Flops flops;
    double bytes = 0;  // may pass 2^63 in long runs
    bool waste_known = false;
    double reserved = 0, internal = 0, external = 0;  // token-seconds
  };
  // Of a pool, beside what its replicas sum up.
  struct PoolSums {
    PoolMetrics counts;  // of requests, tokens and blocks only
    Duration drafting;
    double rejected_seconds = 0;
    std::int64_t rejected = 0;  // drafts of the step now ending
  };

  static void add_waste(ReplicaSums& replica, Duration time, const std::optional<KvWaste>& waste);
  void count(HostTrafficMetrics& sum, std::size_t pool, const HostTransfer& moved) const;
  static void add_step(ReplicaSums& replica, Time start, Time end, Tokens computed, const SchedulerLoad& planned, const StepPrice& price);
  static void add_drafting(PoolSums& sums, const StepDone& fact);
  [[nodiscard]] PoolMetrics pool_metrics(std::size_t pool, Time end) const;
  [[nodiscard]] PoolMetrics fleet_metrics(const std::vector<PoolMetrics>& pools) const;
  void sample_timeline(Time now);
  [[nodiscard]] bool is_saturated() const;
  [[nodiscard]] bool is_near_knee(const RunMetrics& run) const;

  std::vector<PoolFacts> facts_;
  std::vector<std::uint32_t> replica_pool_;
  ServiceLevel slo_;
  std::vector<ReplicaSums> replicas_;
  std::vector<PoolSums> pools_;
  BatchMeans ttft_means_;  // by workload row: order of arrival
  Distribution ttft_, tpot_, itl_, e2el_, queue_time_;
  std::optional<Time> first_sent_;
  Time last_token_;
  std::int64_t good_ = 0;
  std::int64_t outstanding_ = 0;
  std::int64_t never_admitted_ = 0;  // sent, not yet admitted for the first time
  OverTime in_system_;
  std::vector<TimelinePoint> timeline_;
  std::int64_t arrivals_ = 0;
  std::int64_t timeline_stride_ = 1;
};

}  // namespace ridgeline
