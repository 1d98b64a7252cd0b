#include "scenarios/build/replay.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "hardware/power.hpp"
#include "scenarios/build/step_cost.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/metrics/collector.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/scheduling/builtin.hpp"
#include "sim/serving/cluster.hpp"

namespace ridgeline {
namespace {

// The type most of the model's FLOPs run in: the yardstick of its MFU.
DType math_of(const ModelSpec& model) { return model.formats.empty() ? DType::bf16 : model.formats.back().math; }

PoolFacts facts_of(const Pool& pool) {
  PoolFacts facts{.name = pool.name, .replicas = pool.replicas, .gpus = pool.gpus(), .num_gpu_blocks = pool.engine.num_gpu_blocks,
                  .block_size = pool.engine.block_size};
  if (pool.price_per_gpu_hour) facts.price = *pool.price_per_gpu_hour;
  if (!pool.gpu) return facts;
  facts.peak_bandwidth = pool.gpu->memory_bandwidth;
  facts.power = power_by_cause(*pool.gpu);
  if (pool.model) {
    const DType math = math_of(*pool.model);
    facts.peak_compute = pool.gpu->peak(pool.gpu->supports(math) ? math : DType::bf16);
  }
  return facts;
}

std::vector<PoolFacts> facts_of(const std::vector<Pool>& fleet) {
  std::vector<PoolFacts> facts;
  for (const Pool& pool : fleet) facts.push_back(facts_of(pool));
  return facts;
}

std::vector<std::uint32_t> pool_of_each_replica(const std::vector<Pool>& fleet) {
  std::vector<std::uint32_t> pools;
  for (std::uint32_t pool = 0; pool < fleet.size(); ++pool) pools.insert(pools.end(), static_cast<std::size_t>(fleet[pool].replicas), pool);
  return pools;
}

void add_replicas(const Scenario& scenario, const RunOptions& options, Cluster& cluster) {
  std::uint32_t id = 0;
  for (std::uint32_t index = 0; index < scenario.fleet.size(); ++index) {
    const Pool& pool = scenario.fleet[index];
    EngineConfig engine = pool.engine;
    engine.exact_steps = engine.exact_steps || options.exact_steps;
    const std::shared_ptr<StepCost> cost = make_step_cost(scenario, pool, options.adjust_device);
    const auto& scheduler = find_row(schedulers(), pool.engine.scheduler, "scheduler");
    for (int replica = 0; replica < pool.replicas; ++replica) {
      const std::string path = fmt::format("fleet[{}].replica[{}]", index, replica);
      ReplicaSetup setup{.id = ReplicaId{id++}, .pool = PoolId{index}, .name = fmt::format("{}[{}]", pool.name, replica),
                         .host_link = engine.host_kv.link, .log_steps = options.log_steps,
                         .single_steps = engine.exact_steps};
      cluster.add_replica(std::move(setup), scheduler.make(engine, path), cost);
    }
  }
  cluster.set_router(find_row(routers(), scenario.router.policy, "router").make({id, scenario.seed, scenario.router}));
}

// Counts finished requests for the progress call-back.
class ProgressObserver final : public Observer {
 public:
  explicit ProgressObserver(const std::function<void(std::int64_t)>& report) : report_(report) {}
  void finished(const Request&, Time) override {
    constexpr std::int64_t stride = 1024;
    if (++finished_ % stride == 0) report_(finished_);
  }
  [[nodiscard]] bool takes_runs() const override { return true; }

 private:
  const std::function<void(std::int64_t)>& report_;
  std::int64_t finished_ = 0;
};

}  // namespace

RunResult run(const Scenario& scenario, const RunOptions& options) {
  return run_with(scenario, *make_source(scenario.workload, scenario.seed), options);
}

RunResult run_with(const Scenario& scenario, WorkloadSource& source, const RunOptions& options) {
  MetricsCollector metrics(facts_of(scenario.fleet), pool_of_each_replica(scenario.fleet), scenario.slo.limits());
  ProgressObserver progress(options.progress);
  std::vector<Observer*> observers{&metrics};
  observers.insert(observers.end(), options.observers.begin(), options.observers.end());
  if (options.progress) observers.push_back(&progress);

  EventQueue queue;
  Cluster cluster(queue, source, {scenario.workload.max_concurrency}, observers);
  add_replicas(scenario, options, cluster);
  cluster.start();
  while (queue.run_next()) {
  }
  cluster.check_drained();
  return {metrics.metrics(), source.notes(), queue.events(), queue.fingerprint()};
}

}  // namespace ridgeline
