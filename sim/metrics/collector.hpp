// Listens to a run and sums it up. Memory: 24 bytes a finished request, up to Distribution::exact_samples of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
  void step_done(const StepDone& fact) override;
  void finished(const Request& request, Time now) override;

  /// The figures, once the run has ended.
  [[nodiscard]] RunMetrics metrics() const;

 private:
  // A quantity that is constant between changes, integrated over time.
  struct OverTime {
    double integral = 0;  // value * seconds
    double value = 0;
    Time since;
    void set(Time now, double next) {
      integral += value * (now - since).seconds();
      since = now;
      value = next;
    }
    [[nodiscard]] double until(Time end) const { return integral + value * (end - since).seconds(); }
  };
  struct ReplicaSums {
    OverTime kv_usage, queue, running;
  };
  struct PoolSums {
    Duration busy;
    TimeByCause by_cause;
    Flops flops;
    double bytes = 0;  // may pass 2^63 in long runs
    double kv_peak = 0;
    PoolMetrics counts;  // its integer counters only
  };

  [[nodiscard]] PoolMetrics pool_metrics(std::size_t pool, Time end) const;
  [[nodiscard]] PoolMetrics fleet_metrics(const std::vector<PoolMetrics>& pools) const;
  void sample_timeline(Time now);
  [[nodiscard]] bool is_saturated() const;

  std::vector<PoolFacts> facts_;
  std::vector<std::uint32_t> replica_pool_;
  ServiceLevel slo_;
  std::vector<ReplicaSums> replicas_;
  std::vector<PoolSums> pools_;
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
