// What a run amounts to. Field names follow vLLM's serving benchmark (benchmarks/serve.py); docs/metrics.md defines them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/price.hpp"
#include "sim/metrics/distribution.hpp"

namespace ridgeline {

/// Limits a request must keep to count as good. Absent = no limit.
struct ServiceLevel {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> itl;   ///< on the request's mean gap between chunks
  std::optional<Duration> e2el;
  [[nodiscard]] bool any() const { return ttft || tpot || itl || e2el; }
  /// One chunk per token unless drafts are accepted: the mean gap equals TPOT.
  [[nodiscard]] bool kept_by(Duration request_ttft, Duration request_tpot, Duration request_e2el) const {
    const auto within = [](Duration value, const std::optional<Duration>& limit) { return !limit || value <= *limit; };
    return within(request_ttft, ttft) && within(request_tpot, tpot) && within(request_tpot, itl) && within(request_e2el, e2el);
  }
};

/// Fixed facts about a pool that its figures need.
struct PoolFacts {
  std::string name;
  std::int64_t replicas = 1;
  std::int64_t gpus = 1;               ///< over all replicas
  std::int64_t num_gpu_blocks = 0;     ///< per replica, as the engine prints it
  FlopsPerSecond peak_compute;         ///< one GPU, dense, at the model's math type; 0 = unknown (constant cost)
  BytesPerSecond peak_bandwidth;       ///< one GPU
  DollarsPerHour price;                ///< one GPU
  std::array<Watts, cause_count> power{};  ///< one GPU's draw while that cause rules, idle included; 0 = unknown
};

/// Figures of one pool, or of the whole fleet (sums, and means weighted by replica time).
struct PoolMetrics {
  PoolFacts facts;
  std::int64_t completed = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  double kv_cache_usage_mean = 0;  ///< share of usable blocks referenced, over time and replicas
  double kv_cache_usage_peak = 0;
  double queue_mean = 0;           ///< requests waiting in a replica, over time and replicas
  std::int64_t queue_peak = 0;     ///< in one replica
  double running_mean = 0;
  std::int64_t preemptions = 0;
  std::int64_t prompt_tokens_seen = 0;    ///< prompt tokens at first admission
  std::int64_t prompt_tokens_cached = 0;  ///< of those, found in the prefix cache
  std::int64_t steps = 0;
  std::int64_t scheduled_tokens = 0;      ///< computed, recomputation included
  double busy = 0;                 ///< share of replica time spent in steps
  double mfu_busy = 0, mfu = 0;    ///< model FLOP/s over peak, while busy and overall
  double mbu_busy = 0, mbu = 0;    ///< model bytes/s over peak, while busy and overall
  std::array<double, cause_count> time_by_cause{};  ///< shares of replica time, idle included; sum to 1
  Dollars cost;
  Joules energy;
  [[nodiscard]] double prefix_cache_hit_rate() const {
    return prompt_tokens_seen > 0 ? static_cast<double>(prompt_tokens_cached) / static_cast<double>(prompt_tokens_seen) : 0.0;
  }
  /// Dollars per million output tokens; nullopt when nothing was produced or no price is known.
  [[nodiscard]] std::optional<double> usd_per_million_output_tokens() const {
    if (output_tokens == 0 || facts.price.count() <= 0) return std::nullopt;
    return cost.count() / static_cast<double>(output_tokens) * 1e6;
  }
};

/// One point of the run's history, for charts.
struct TimelinePoint {
  Time at;
  std::int64_t outstanding = 0;  ///< sent and not finished
  std::int64_t waiting = 0;      ///< of those, waiting for admission
};

/// Figures of a whole run.
struct RunMetrics {
  std::int64_t completed = 0;
  std::int64_t good = 0;          ///< completed within every limit of the SLO (all of them when there is none)
  std::int64_t total_input_tokens = 0;
  std::int64_t total_output_tokens = 0;
  Duration duration;              ///< first send to last token
  double request_throughput = 0;  ///< per second
  double request_goodput = 0;     ///< per second
  double output_throughput = 0;   ///< tokens per second
  double total_token_throughput = 0;
  Summary ttft, tpot, itl, e2el;  ///< milliseconds
  Summary queue_time;             ///< sent to first admission, milliseconds
  bool saturated = false;         ///< the queue still grew when the last request arrived
  double mean_outstanding = 0;    ///< time average of requests in the system (Little's law: = rate x mean e2el)
  PoolMetrics fleet;
  std::vector<PoolMetrics> pools;
  std::vector<TimelinePoint> timeline;  ///< at most 1024 points
};

}  // namespace ridgeline
