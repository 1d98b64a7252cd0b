#include "sim/metrics/collector.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

MetricsCollector::MetricsCollector(std::vector<PoolFacts> pools, std::vector<std::uint32_t> replica_pool, ServiceLevel slo)
    : facts_(std::move(pools)), replica_pool_(std::move(replica_pool)), slo_(slo), replicas_(replica_pool_.size()), pools_(facts_.size()) {}

void MetricsCollector::arrived(const Request&, Time now) {
  if (!first_sent_) {
    first_sent_ = now;
    in_system_.since = now;
    for (ReplicaSums& replica : replicas_) replica.kv_usage.since = replica.queue.since = replica.running.since = now;
  }
  ++outstanding_;
  ++never_admitted_;
  in_system_.set(now, static_cast<double>(outstanding_));
  sample_timeline(now);
}

void MetricsCollector::admitted(const Request& request, Tokens cached, Time now) {
  if (request.preemptions > 0) return;
  --never_admitted_;
  queue_time_.add(now - request.sent);
  PoolMetrics& counts = pools_[request.pool].counts;
  counts.prompt_tokens_seen += request.spec.input.count();
  counts.prompt_tokens_cached += cached.count();
}

void MetricsCollector::preempted(const Request& request, Time) { ++pools_[request.pool].counts.preemptions; }

void MetricsCollector::first_token(const Request& request, Time now) { ttft_.add(now - request.sent); }

void MetricsCollector::chunks(const ChunksEmitted& fact) {
  if (fact.sequences > 0) itl_.add(fact.gap, fact.sequences);
}

void MetricsCollector::step_done(const StepDone& fact) {
  PoolSums& pool = pools_[fact.pool.value()];
  pool.busy += fact.end - fact.start;
  pool.by_cause += fact.price->by_cause;
  pool.flops += fact.price->flops;
  pool.bytes += fact.price->bytes.as_double();
  ++pool.counts.steps;
  pool.counts.scheduled_tokens += fact.plan->batch.tokens().count();
  pool.counts.queue_peak = std::max(pool.counts.queue_peak, fact.planned.waiting);

  const auto usage = [](const SchedulerLoad& load) {
    return load.total_blocks > 0 ? 1.0 - static_cast<double>(load.free_blocks) / static_cast<double>(load.total_blocks) : 0.0;
  };
  ReplicaSums& replica = replicas_[fact.replica.value()];
  const double planned = usage(fact.planned);
  pool.kv_peak = std::max(pool.kv_peak, planned);
  // During the step its planned blocks are held; between steps what is left. Asynchronous engines plan before the previous
  // step ends, so the interval may have begun already.
  const Time start = std::max(fact.start, replica.kv_usage.since);
  replica.kv_usage.set(start, planned);
  replica.kv_usage.set(fact.end, usage(fact.load));
  replica.queue.set(start, static_cast<double>(fact.planned.waiting));
  replica.queue.set(fact.end, static_cast<double>(fact.load.waiting));
  replica.running.set(start, static_cast<double>(fact.planned.running));
  replica.running.set(fact.end, static_cast<double>(fact.load.running));
}

void MetricsCollector::finished(const Request& request, Time now) {
  const Duration ttft = request.first_token - request.sent;
  const Duration e2el = now - request.sent;
  Duration tpot;  // zero for one-token outputs, which count as fast enough but not in the distribution
  if (request.spec.output > Tokens{1}) {
    tpot = Duration{(e2el - ttft).count() / (request.spec.output.count() - 1)};
    tpot_.add(tpot);
  }
  e2el_.add(e2el);
  if (slo_.kept_by(ttft, tpot, e2el) && request.emitted > Tokens{0}) ++good_;
  PoolMetrics& counts = pools_[request.pool].counts;
  ++counts.completed;
  counts.input_tokens += request.spec.input.count();
  counts.output_tokens += request.spec.output.count();
  --outstanding_;
  in_system_.set(now, static_cast<double>(outstanding_));
  last_token_ = now;
}

// Every stride-th arrival is a point; when 1,024 points are full, every other one is dropped and the stride doubles.
void MetricsCollector::sample_timeline(Time now) {
  if (arrivals_++ % timeline_stride_ != 0) return;
  constexpr std::size_t most = 1024;
  if (timeline_.size() == most) {
    for (std::size_t i = 0; i < most / 2; ++i) timeline_[i] = timeline_[2 * i];
    timeline_.resize(most / 2);
    timeline_stride_ *= 2;
  }
  timeline_.push_back({now, outstanding_, never_admitted_});
}

// The queue "still grew" when its mean over the last quarter of the arrival window stands clearly above the third quarter's,
// and that above the second's. A stable queue wanders; it does not climb three times in a row by a fifth.
bool MetricsCollector::is_saturated() const {
  if (timeline_.size() < 16) return false;
  const Time first = timeline_.front().at;
  const Duration window = timeline_.back().at - first;
  if (window <= Duration{}) return false;  // all at once: a batch job has no rate to keep up with
  std::array<double, 4> sum{};
  std::array<double, 4> points{};
  for (const TimelinePoint& point : timeline_) {
    const double share = (point.at - first).seconds() / window.seconds();
    const auto quarter = std::min<std::size_t>(3, static_cast<std::size_t>(share * 4));
    sum[quarter] += static_cast<double>(point.waiting);
    points[quarter] += 1;
  }
  for (std::size_t i = 0; i < 4; ++i) sum[i] = points[i] > 0 ? sum[i] / points[i] : 0.0;
  const double replicas = static_cast<double>(replicas_.size());
  return sum[3] > 2.0 * replicas && sum[3] > 1.2 * sum[2] && sum[2] > 1.2 * sum[1];
}

PoolMetrics MetricsCollector::pool_metrics(std::size_t pool, Time end) const {
  const PoolSums& sums = pools_[pool];
  PoolMetrics metrics = sums.counts;
  metrics.facts = facts_[pool];
  const double wall = first_sent_ ? (end - *first_sent_).seconds() : 0.0;
  const double replica_time = wall * static_cast<double>(metrics.facts.replicas);
  if (replica_time <= 0) return metrics;

  double kv = 0, queue = 0, running = 0;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replica_pool_[i] != pool) continue;
    kv += replicas_[i].kv_usage.until(end);
    queue += replicas_[i].queue.until(end);
    running += replicas_[i].running.until(end);
  }
  metrics.kv_cache_usage_mean = kv / replica_time;
  metrics.kv_cache_usage_peak = sums.kv_peak;
  metrics.queue_mean = queue / replica_time;
  metrics.running_mean = running / replica_time;
  metrics.busy = sums.busy.seconds() / replica_time;
  for (std::size_t i = 0; i < cause_count; ++i) {
    metrics.time_by_cause[i] = sums.by_cause[static_cast<Cause>(i)].seconds() / replica_time;
  }
  metrics.time_by_cause[static_cast<std::size_t>(Cause::idle)] = 1.0 - metrics.busy;

  const auto share = [](double done, double peak, double seconds) { return peak > 0 && seconds > 0 ? done / (peak * seconds) : 0.0; };
  const double compute = metrics.facts.peak_compute.count();
  const double bandwidth = metrics.facts.peak_bandwidth.count();
  metrics.mfu_busy = share(sums.flops.count(), compute, sums.busy.seconds());
  metrics.mfu = share(sums.flops.count(), compute, replica_time);
  metrics.mbu_busy = share(sums.bytes, bandwidth, sums.busy.seconds());
  metrics.mbu = share(sums.bytes, bandwidth, replica_time);

  const double gpu_hours = wall / 3600.0 * static_cast<double>(metrics.facts.gpus);
  metrics.cost = Dollars{metrics.facts.price.count() * gpu_hours};
  double watts = 0;  // of one GPU, averaged over the run
  for (std::size_t i = 0; i < cause_count; ++i) watts += metrics.facts.power[i].count() * metrics.time_by_cause[i];
  metrics.energy = Joules{watts * wall * static_cast<double>(metrics.facts.gpus)};
  return metrics;
}

PoolMetrics MetricsCollector::fleet_metrics(const std::vector<PoolMetrics>& pools) const {
  if (pools.size() == 1) {
    PoolMetrics fleet = pools.front();
    fleet.facts.name = "fleet";
    return fleet;
  }
  PoolMetrics fleet;
  fleet.facts = {.name = "fleet", .replicas = 0, .gpus = 0};
  double gpus = 0;
  double price = 0;
  for (const PoolMetrics& pool : pools) {
    fleet.facts.replicas += pool.facts.replicas;
    fleet.facts.gpus += pool.facts.gpus;
    gpus += static_cast<double>(pool.facts.gpus);
    price += pool.facts.price.count() * static_cast<double>(pool.facts.gpus);
  }
  fleet.facts.price = DollarsPerHour{gpus > 0 ? price / gpus : 0.0};
  for (const PoolMetrics& pool : pools) {
    const double by_replica = static_cast<double>(pool.facts.replicas) / static_cast<double>(std::max<std::int64_t>(1, fleet.facts.replicas));
    const double by_gpu = gpus > 0 ? static_cast<double>(pool.facts.gpus) / gpus : 0.0;
    fleet.facts.num_gpu_blocks += pool.facts.num_gpu_blocks * pool.facts.replicas;
    fleet.completed += pool.completed;
    fleet.input_tokens += pool.input_tokens;
    fleet.output_tokens += pool.output_tokens;
    fleet.preemptions += pool.preemptions;
    fleet.prompt_tokens_seen += pool.prompt_tokens_seen;
    fleet.prompt_tokens_cached += pool.prompt_tokens_cached;
    fleet.steps += pool.steps;
    fleet.scheduled_tokens += pool.scheduled_tokens;
    fleet.kv_cache_usage_peak = std::max(fleet.kv_cache_usage_peak, pool.kv_cache_usage_peak);
    fleet.queue_peak = std::max(fleet.queue_peak, pool.queue_peak);
    fleet.kv_cache_usage_mean += pool.kv_cache_usage_mean * by_replica;
    fleet.queue_mean += pool.queue_mean * by_replica;
    fleet.running_mean += pool.running_mean * by_replica;
    fleet.busy += pool.busy * by_replica;
    for (std::size_t i = 0; i < cause_count; ++i) fleet.time_by_cause[i] += pool.time_by_cause[i] * by_replica;
    fleet.mfu += pool.mfu * by_gpu;
    fleet.mbu += pool.mbu * by_gpu;
    fleet.mfu_busy += pool.mfu_busy * by_gpu;
    fleet.mbu_busy += pool.mbu_busy * by_gpu;
    fleet.cost += pool.cost;
    fleet.energy += pool.energy;
  }
  return fleet;
}

RunMetrics MetricsCollector::metrics() const {
  RunMetrics run;
  for (std::size_t i = 0; i < pools_.size(); ++i) run.pools.push_back(pool_metrics(i, last_token_));
  run.fleet = fleet_metrics(run.pools);
  run.completed = run.fleet.completed;
  run.good = good_;
  run.total_input_tokens = run.fleet.input_tokens;
  run.total_output_tokens = run.fleet.output_tokens;
  run.timeline = timeline_;
  run.saturated = is_saturated();
  run.ttft = ttft_.summary();
  run.tpot = tpot_.summary();
  run.itl = itl_.summary();
  run.e2el = e2el_.summary();
  run.queue_time = queue_time_.summary();
  if (!first_sent_) return run;
  run.duration = last_token_ - *first_sent_;
  const double seconds = run.duration.seconds();
  if (seconds <= 0) return run;
  run.request_throughput = static_cast<double>(run.completed) / seconds;
  run.request_goodput = static_cast<double>(run.good) / seconds;
  run.output_throughput = static_cast<double>(run.total_output_tokens) / seconds;
  run.total_token_throughput = static_cast<double>(run.total_input_tokens + run.total_output_tokens) / seconds;
  run.mean_outstanding = in_system_.until(last_token_) / seconds;
  return run;
}

}  // namespace ridgeline
