// What a run amounts to. Field names follow vLLM's serving benchmark (benchmarks/serve.py); docs/metrics.md defines them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/price.hpp"
#include "sim/metrics/batch_means.hpp"
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
  std::int64_t block_size = 0;         ///< tokens
  FlopsPerSecond peak_compute;         ///< one GPU, dense, at the model's math type; 0 = unknown (constant cost)
  BytesPerSecond peak_bandwidth;       ///< one GPU
  DollarsPerHour price;                ///< one GPU
  std::array<Watts, cause_count> power{};  ///< one GPU's draw while that cause rules, idle included; 0 = unknown
};

/// What speculative decoding came to. Names follow vLLM's `spec_decode` counters.
struct SpeculationMetrics {
  std::int64_t drafts = 0;           ///< times a sequence had drafts verified
  std::int64_t draft_tokens = 0;     ///< drafts verified (tree: nodes)
  std::int64_t accepted_tokens = 0;  ///< of those, accepted
  std::int64_t decodes = 0;          ///< times a sequence extended its output, with or without drafts
  std::int64_t decoded_tokens = 0;   ///< what it got then
  double drafting = 0;               ///< share of step time that proposing adds
  double rejected = 0;               ///< share of step time in proportion to rejected rows

  [[nodiscard]] std::int64_t rejected_tokens() const { return draft_tokens - accepted_tokens; }
  [[nodiscard]] double mean_acceptance_length() const { return 1.0 + ratio(accepted_tokens, drafts); }
  [[nodiscard]] double acceptance_rate() const { return ratio(accepted_tokens, draft_tokens); }
  [[nodiscard]] double output_tokens_per_step() const { return ratio(decoded_tokens, decodes); }

 private:
  static double ratio(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  }
};

/// KV that crossed host links, over all GPUs.
struct HostTrafficMetrics {
  std::int64_t sequences = 0;  ///< swaps, or transfers of the offload tier
  std::int64_t blocks = 0;     ///< of whole replicas
  std::int64_t tokens = 0;     ///< those blocks hold
  double bytes = 0;            ///< over all GPUs of a replica; may pass 2^63 in long runs
};

/// Shares of the KV pool that held no token, over time and replicas.
struct KvWasteMetrics {
  double reserved = 0;  ///< for tokens to come
  double internal = 0;  ///< never filled
  double external = 0;  ///< free while a request waited that it could not serve
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
  double queue_share = 0;          ///< share of replica time in which a step ran and requests still waited
  double running_mean = 0;
  std::int64_t running_peak = 0;     ///< in one replica
  std::int64_t step_tokens_peak = 0; ///< of one step
  std::int64_t preemptions = 0;
  std::int64_t prompt_tokens_seen = 0;    ///< prompt tokens at first admission
  std::int64_t prompt_tokens_cached = 0;  ///< of those, found in the prefix cache
  std::int64_t prefix_cache_evicted_blocks = 0;  ///< cached blocks overwritten
  std::int64_t kv_evicted_tokens = 0;     ///< tokens of running sequences dropped by kv_eviction
  std::optional<KvWasteMetrics> kv_waste; ///< absent where a scheduler keeps no count of it
  HostTrafficMetrics swapped_in, swapped_out;
  HostTrafficMetrics offload_loaded, offload_stored;
  std::int64_t host_blocks_peak = 0;      ///< KV blocks in host memory, in one replica
  std::int64_t steps = 0;
  std::int64_t scheduled_tokens = 0;      ///< computed, recomputation included
  double busy = 0;                 ///< share of replica time spent in steps
  double mfu_busy = 0, mfu = 0;    ///< model FLOP/s over peak, while busy and overall
  double mbu_busy = 0, mbu = 0;    ///< model bytes/s over peak, while busy and overall
  std::optional<SpeculationMetrics> speculation;    ///< of pools that speculate
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
  bool near_knee = false;         ///< not saturated, but close: the TTFT is not determined by this run
  std::optional<MeanInterval> mean_ttft_interval;  ///< milliseconds; absent for short runs
  double mean_outstanding = 0;    ///< time average of requests in the system (Little's law: = rate x mean e2el)
  PoolMetrics fleet;
  std::vector<PoolMetrics> pools;
  std::vector<TimelinePoint> timeline;  ///< at most 1024 points
};

}  // namespace ridgeline
