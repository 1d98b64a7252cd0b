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
    for (ReplicaSums& replica : replicas_) replica.used_blocks.since = replica.queue.since = replica.running.since = now;
  }
  ++outstanding_;
  ++never_admitted_;
  in_system_.set(now, outstanding_);
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

void MetricsCollector::first_token(const Request& request, Time now) {
  ttft_.add(now - request.sent);
  ttft_means_.add(request.spec.row, (now - request.sent).milliseconds());
}

void MetricsCollector::chunks(const ChunksEmitted& fact) {
  if (fact.sequences > 0) itl_.add(fact.gap, fact.sequences);
}

// During a step its planned blocks are held.
void MetricsCollector::add_step(ReplicaSums& replica, Time start, Time end, Tokens computed, const SchedulerLoad& planned,
                                const StepPrice& price) {
  const std::int64_t used = planned.total_blocks - planned.free_blocks;
  replica.used_blocks.set(start, used);
  replica.queue.set(start, planned.waiting);
  replica.running.set(start, planned.running);
  replica.total_blocks = planned.total_blocks;
  replica.most_used_blocks = std::max(replica.most_used_blocks, used);
  replica.longest_queue = std::max(replica.longest_queue, planned.waiting);
  replica.most_host_blocks = std::max(replica.most_host_blocks, planned.host_blocks);
  replica.most_running = std::max(replica.most_running, planned.running);
  replica.most_step_tokens = std::max(replica.most_step_tokens, computed.count());
  ++replica.steps;
  replica.scheduled_tokens += computed.count();
  replica.busy += end - start;
  if (planned.waiting > 0) replica.queueing += end - start;
  replica.by_cause += price.by_cause;
  replica.flops += price.flops;
  replica.bytes += price.bytes.as_double();
}

// A transfer names one GPU's figures: its blocks are the replica's, its bytes a share.
void MetricsCollector::count(HostTrafficMetrics& sum, std::size_t pool, const HostTransfer& moved) const {
  if (moved.blocks == 0) return;
  sum.sequences += moved.sequences;
  sum.blocks += moved.blocks;
  sum.tokens += moved.blocks * facts_[pool].block_size;
  sum.bytes += moved.bytes.as_double() * static_cast<double>(facts_[pool].gpus / facts_[pool].replicas);
}

void MetricsCollector::offloaded(PoolId pool, const HostTraffic& started) {
  PoolMetrics& counts = pools_[pool.value()].counts;
  count(counts.offload_loaded, pool.value(), started.in);
  count(counts.offload_stored, pool.value(), started.out);
}

void MetricsCollector::cache_evicted(PoolId pool, std::int64_t blocks) {
  pools_[pool.value()].counts.prefix_cache_evicted_blocks += blocks;
}

void MetricsCollector::swapped(PoolId pool, const HostTraffic& with_next_step) {
  PoolMetrics& counts = pools_[pool.value()].counts;
  count(counts.swapped_in, pool.value(), with_next_step.in);
  count(counts.swapped_out, pool.value(), with_next_step.out);
}

void MetricsCollector::kv_evicted(PoolId pool, Tokens dropped) { pools_[pool.value()].counts.kv_evicted_tokens += dropped.count(); }

void MetricsCollector::add_waste(ReplicaSums& replica, Duration time, const std::optional<KvWaste>& waste) {
  if (!waste) return;
  replica.waste_known = true;
  replica.reserved += waste->reserved.as_double() * time.seconds();
  replica.internal += waste->internal.as_double() * time.seconds();
  replica.external += waste->external.as_double() * time.seconds();
}

void MetricsCollector::verified(PoolId pool, const DraftsVerified& drafts) {
  PoolSums& sums = pools_[pool.value()];
  PoolMetrics& counts = sums.counts;
  SpeculationMetrics& speculation = counts.speculation ? *counts.speculation : counts.speculation.emplace();
  speculation.drafts += drafts.sequences;
  speculation.draft_tokens += drafts.drafts;
  speculation.accepted_tokens += drafts.accepted;
  speculation.decodes += drafts.decodes;
  speculation.decoded_tokens += drafts.decoded_tokens;
  sums.rejected = drafts.drafts - drafts.accepted;
}

void MetricsCollector::add_drafting(PoolSums& sums, const StepDone& fact) {
  sums.drafting += fact.price->drafting;
  if (sums.rejected == 0) return;
  // Rejected rows take their part of the verification, row by row.
  const double share = static_cast<double>(sums.rejected) / fact.plan->batch.tokens().as_double();
  sums.rejected_seconds += share * Duration(fact.price->total - fact.price->drafting).seconds();
  sums.rejected = 0;
}

void MetricsCollector::step_done(const StepDone& fact) {
  ReplicaSums& replica = replicas_[fact.replica.value()];
  add_step(replica, fact.start, fact.end, fact.plan->batch.tokens(), fact.planned, *fact.price);
  add_drafting(pools_[fact.pool.value()], fact);
  add_waste(replica, fact.end - fact.start, fact.waste);
  replica.used_blocks.set(fact.end, fact.load.total_blocks - fact.load.free_blocks);
  replica.queue.set(fact.end, fact.load.waiting);
  replica.running.set(fact.end, fact.load.running);
}

void MetricsCollector::run_done(const DecodeRun& fact) {
  ReplicaSums& replica = replicas_[fact.replica.value()];
  Time start = fact.start;
  Time previous = fact.previous;
  for (const TimedStep& step : fact.steps) {
    add_step(replica, start, step.end, step.computed, step.planned, step.price);
    add_waste(replica, step.end - start, step.waste);
    itl_.add(step.end - previous, fact.sequences);
    start = previous = step.end;
  }
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
  in_system_.set(now, outstanding_);
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

// Open-loop load that the fleet just carries: requests often wait although every step is full, or the waits that make up a good part of
// the TTFT swing from one stretch of the run to the next.
bool MetricsCollector::is_near_knee(const RunMetrics& run) const {
  constexpr double often = 0.25;
  constexpr double wide = 0.15;
  constexpr double good_part = 0.2;
  if (run.saturated || !run.mean_ttft_interval || timeline_.size() < 16 || timeline_.back().at <= timeline_.front().at) return false;
  const bool swings = run.mean_ttft_interval->relative() > wide && run.queue_time.mean > good_part * run.ttft.mean;
  return swings || run.fleet.queue_share > often;
}

PoolMetrics MetricsCollector::pool_metrics(std::size_t pool, Time end) const {
  PoolMetrics metrics = pools_[pool].counts;
  metrics.facts = facts_[pool];
  Duration busy;
  TimeByCause by_cause;
  Flops flops;
  double bytes = 0, used_blocks = 0, total_blocks = 0, queue = 0, running = 0, queueing = 0;
  std::optional<KvWasteMetrics> waste;  // token-seconds
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replica_pool_[i] != pool) continue;
    const ReplicaSums& replica = replicas_[i];
    used_blocks += replica.used_blocks.seconds_until(end);
    queue += replica.queue.seconds_until(end);
    running += replica.running.seconds_until(end);
    queueing += replica.queueing.seconds();
    metrics.host_blocks_peak = std::max(metrics.host_blocks_peak, replica.most_host_blocks);
    if (replica.waste_known) {
      if (!waste) waste.emplace();
      waste->reserved += replica.reserved, waste->internal += replica.internal, waste->external += replica.external;
    }
    metrics.queue_peak = std::max(metrics.queue_peak, replica.longest_queue);
    metrics.running_peak = std::max(metrics.running_peak, replica.most_running);
    metrics.step_tokens_peak = std::max(metrics.step_tokens_peak, replica.most_step_tokens);
    metrics.steps += replica.steps;
    metrics.scheduled_tokens += replica.scheduled_tokens;
    busy += replica.busy;
    by_cause += replica.by_cause;
    flops += replica.flops;
    bytes += replica.bytes;
    if (replica.total_blocks == 0) continue;
    total_blocks = static_cast<double>(replica.total_blocks);  // the same for all that have run
    metrics.kv_cache_usage_peak =
        std::max(metrics.kv_cache_usage_peak, static_cast<double>(replica.most_used_blocks) / total_blocks);
  }
  const double wall = first_sent_ ? (end - *first_sent_).seconds() : 0.0;
  const double replica_time = wall * static_cast<double>(metrics.facts.replicas);
  if (replica_time <= 0) return metrics;

  metrics.kv_cache_usage_mean = total_blocks > 0 ? used_blocks / total_blocks / replica_time : 0.0;
  const double slots = replica_time * static_cast<double>(metrics.facts.num_gpu_blocks * metrics.facts.block_size);
  if (waste && slots > 0) {
    metrics.kv_waste = {.reserved = waste->reserved / slots, .internal = waste->internal / slots, .external = waste->external / slots};
  }
  metrics.queue_mean = queue / replica_time;
  metrics.queue_share = queueing / replica_time;
  metrics.running_mean = running / replica_time;
  metrics.busy = busy.seconds() / replica_time;
  for (std::size_t i = 0; i < cause_count; ++i) {
    metrics.time_by_cause[i] = by_cause[static_cast<Cause>(i)].seconds() / replica_time;
  }
  metrics.time_by_cause[static_cast<std::size_t>(Cause::idle)] = 1.0 - metrics.busy;
  if (metrics.speculation && busy > Duration{}) {
    metrics.speculation->drafting = pools_[pool].drafting.seconds() / busy.seconds();
    metrics.speculation->rejected = pools_[pool].rejected_seconds / busy.seconds();
  }

  const auto share = [](double done, double peak, double seconds) { return peak > 0 && seconds > 0 ? done / (peak * seconds) : 0.0; };
  const double compute = metrics.facts.peak_compute.count();
  const double bandwidth = metrics.facts.peak_bandwidth.count();
  metrics.mfu_busy = share(flops.count(), compute, busy.seconds());
  metrics.mfu = share(flops.count(), compute, replica_time);
  metrics.mbu_busy = share(bytes, bandwidth, busy.seconds());
  metrics.mbu = share(bytes, bandwidth, replica_time);

  const double gpu_hours = wall / 3600.0 * static_cast<double>(metrics.facts.gpus);
  metrics.cost = Dollars{metrics.facts.price.count() * gpu_hours};
  double watts = 0;  // of one GPU, averaged over the run
  for (std::size_t i = 0; i < cause_count; ++i) watts += metrics.facts.power[i].count() * metrics.time_by_cause[i];
  metrics.energy = Joules{watts * wall * static_cast<double>(metrics.facts.gpus)};
  return metrics;
}

namespace {

// Sums, and shares weighted by the time spent in steps.
std::optional<SpeculationMetrics> fleet_speculation(const std::vector<PoolMetrics>& pools) {
  std::optional<SpeculationMetrics> fleet;
  double busy = 0;
  for (const PoolMetrics& pool : pools) {
    const double time = pool.busy * static_cast<double>(pool.facts.replicas);
    busy += time;
    if (!pool.speculation) continue;
    if (!fleet) fleet.emplace();
    fleet->drafts += pool.speculation->drafts;
    fleet->draft_tokens += pool.speculation->draft_tokens;
    fleet->accepted_tokens += pool.speculation->accepted_tokens;
    fleet->decodes += pool.speculation->decodes;
    fleet->decoded_tokens += pool.speculation->decoded_tokens;
    fleet->drafting += pool.speculation->drafting * time;
    fleet->rejected += pool.speculation->rejected * time;
  }
  if (fleet && busy > 0) fleet->drafting /= busy, fleet->rejected /= busy;
  return fleet;
}

void add(HostTrafficMetrics& sum, const HostTrafficMetrics& part) {
  sum.sequences += part.sequences, sum.blocks += part.blocks, sum.tokens += part.tokens, sum.bytes += part.bytes;
}

}  // namespace

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
    fleet.prefix_cache_evicted_blocks += pool.prefix_cache_evicted_blocks;
    fleet.kv_evicted_tokens += pool.kv_evicted_tokens;
    fleet.host_blocks_peak = std::max(fleet.host_blocks_peak, pool.host_blocks_peak);
    add(fleet.swapped_in, pool.swapped_in);
    add(fleet.swapped_out, pool.swapped_out);
    add(fleet.offload_loaded, pool.offload_loaded);
    add(fleet.offload_stored, pool.offload_stored);
    fleet.steps += pool.steps;
    fleet.scheduled_tokens += pool.scheduled_tokens;
    fleet.kv_cache_usage_peak = std::max(fleet.kv_cache_usage_peak, pool.kv_cache_usage_peak);
    fleet.queue_peak = std::max(fleet.queue_peak, pool.queue_peak);
    fleet.running_peak = std::max(fleet.running_peak, pool.running_peak);
    fleet.step_tokens_peak = std::max(fleet.step_tokens_peak, pool.step_tokens_peak);
    fleet.kv_cache_usage_mean += pool.kv_cache_usage_mean * by_replica;
    fleet.queue_mean += pool.queue_mean * by_replica;
    fleet.queue_share += pool.queue_share * by_replica;
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
  fleet.speculation = fleet_speculation(pools);
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
  run.mean_ttft_interval = ttft_means_.interval();
  run.near_knee = is_near_knee(run);
  if (!first_sent_) return run;
  run.duration = last_token_ - *first_sent_;
  const double seconds = run.duration.seconds();
  if (seconds <= 0) return run;
  run.request_throughput = static_cast<double>(run.completed) / seconds;
  run.request_goodput = static_cast<double>(run.good) / seconds;
  run.output_throughput = static_cast<double>(run.total_output_tokens) / seconds;
  run.total_token_throughput = static_cast<double>(run.total_input_tokens + run.total_output_tokens) / seconds;
  run.mean_outstanding = in_system_.seconds_until(last_token_) / seconds;
  return run;
}

}  // namespace ridgeline
