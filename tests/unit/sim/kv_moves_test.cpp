// Swap traffic and waste are counted alike whether a replica takes its steps one by one or in runs.
#include <memory>
#include <optional>

#include "sim/base/rng.hpp"
#include "sim/cost/composed_step_cost.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/metrics/collector.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/scheduling/builtin.hpp"
#include "sim/serving/cluster.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

/// 60 requests of 1 to 150 prompt and 1 to 90 output tokens, up to 20 ms apart.
class RandomRequests final : public RequestSource {
 public:
  explicit RandomRequests(std::uint64_t seed) : stream_(seed, "kv moves test", "requests") { draw(); }
  Time next_arrival() override { return next_ ? next_->arrival : Time::max(); }
  std::optional<RequestSpec> next() override {
    const std::optional<RequestSpec> drawn = next_;
    draw();
    return drawn;
  }

 private:
  void draw() {
    next_.reset();
    if (row_ == 60) return;
    RequestSpec& spec = next_.emplace();
    spec.row = row_++;
    now_ += Duration::microseconds(below(20'000));
    spec.arrival = now_;
    spec.input = Tokens{1 + below(150)};
    spec.output = spec.max_tokens = Tokens{1 + below(90)};
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(stream_() % static_cast<std::uint64_t>(n)); }
  RandomStream stream_;
  std::int64_t row_ = 0;
  Time now_;
  std::optional<RequestSpec> next_;
};

RunMetrics metrics_of(const EngineConfig& config, std::uint64_t seed, bool single_steps) {
  MetricsCollector metrics({{.name = "pool", .num_gpu_blocks = config.num_gpu_blocks, .block_size = config.block_size}}, {0}, {});
  EventQueue queue;
  RandomRequests source(seed);
  Cluster cluster(queue, source, {}, {&metrics});
  cluster.add_replica({.id = ReplicaId{0}, .pool = PoolId{0}, .name = "one", .host_link = config.host_kv.link, .single_steps = single_steps},
                      find_row(schedulers(), config.scheduler, "scheduler").make(config, "replica"),
                      std::make_shared<ConstantStepCost>(Duration::milliseconds(1)));
  cluster.set_router(make_round_robin({.replicas = 1}));
  cluster.start();
  while (queue.run_next()) {
  }
  cluster.check_drained();
  return metrics.metrics();
}

}  // namespace

TEST_CASE("KV moves and waste do not depend on how steps are taken") {
  EngineConfig swap;
  swap.scheduler = "vllm_v0";
  swap.preemption_mode = "swap";
  swap.num_gpu_blocks = 40;
  swap.host_kv = {.swap_blocks = 400, .block_bytes = Bytes{1'000'000}, .copies_per_block = 4,
                  .link = {.bandwidth = BytesPerSecond{1e10}, .per_copy = Duration::microseconds(10)}};
  EngineConfig recompute = swap;
  recompute.preemption_mode = "recompute";
  EngineConfig sarathi = recompute;
  sarathi.scheduler = "sarathi";
  EngineConfig paged = recompute;
  paged.scheduler = "orca";
  paged.kv_reservation = "paged";
  EngineConfig oracle = paged;
  oracle.kv_reservation = "oracle";
  std::int64_t swaps = 0;
  for (EngineConfig config : {swap, recompute, sarathi, paged, oracle}) {
    config.max_model_len = 256;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      INFO(config.scheduler << ' ' << config.preemption_mode << ' ' << config.kv_reservation << ' ' << seed);
      const RunMetrics single = metrics_of(config, seed, true);
      const RunMetrics runs = metrics_of(config, seed, false);
      const PoolMetrics& a = single.fleet;
      const PoolMetrics& b = runs.fleet;
      CHECK(single.duration == runs.duration);
      CHECK(a.steps == b.steps);
      CHECK(a.swapped_out.bytes == b.swapped_out.bytes);
      CHECK(a.swapped_in.bytes == b.swapped_in.bytes);
      CHECK(a.swapped_in.bytes == a.swapped_out.bytes);
      CHECK(a.host_blocks_peak == b.host_blocks_peak);
      CHECK(a.queue_share == b.queue_share);
      CHECK(a.kv_waste.value().reserved == b.kv_waste.value().reserved);
      CHECK(a.kv_waste->internal == b.kv_waste->internal);
      CHECK(a.kv_waste->external == b.kv_waste->external);
      swaps += a.swapped_out.sequences;
    }
  }
  CHECK(swaps > 20);
}
