// What the engine loop costs: an event, a scheduler's step, a look-up in the prefix cache.
#include <benchmark/benchmark.h>

#include <deque>
#include <memory>

#include "sim/engine/event_queue.hpp"
#include "sim/scheduling/builtin.hpp"
#include "sim/serving/kv_cache.hpp"

namespace {

using namespace ridgeline;

class Ticker final : public Process {
 public:
  Ticker(EventQueue& queue, Duration period) : queue_(queue), period_(period) {}
  void start() { queue_.schedule(Time{period_}, Phase::complete, *this); }
  void wake(Time now, std::uint32_t) override { queue_.schedule(now + period_, Phase::complete, *this); }
  [[nodiscard]] std::string_view name() const override { return "ticker"; }

 private:
  EventQueue& queue_;
  Duration period_;
};

// One event of a queue in which so many processes each have one pending.
void event(benchmark::State& state) {
  EventQueue queue;
  std::deque<Ticker> tickers;
  for (std::int64_t i = 0; i < state.range(0); ++i) tickers.emplace_back(queue, Duration::nanoseconds(1000 + 7 * i)).start();
  for (auto _ : state) benchmark::DoNotOptimize(queue.run_next());
}
BENCHMARK(event)->Arg(1)->Arg(64)->Arg(1024);

class Silent final : public SchedulerListener {
 public:
  void admitted(Request&, Tokens) override {}
  void preempted(Request&) override {}
  void first_token(Request&) override {}
  void chunks(std::int64_t, std::int64_t, Time) override {}
  void finished(Request&) override {}
};

EngineConfig engine(std::int64_t batch, bool exact) {
  EngineConfig config;
  config.scheduler = "vllm_v1";
  config.num_gpu_blocks = 10'000'000;
  config.max_num_seqs = batch;
  config.max_num_batched_tokens = 1 << 20;
  config.max_model_len = 1 << 20;
  config.async_scheduling = false;
  config.exact_steps = exact;
  return config;
}

// A steady decode step of vLLM V1's scheduler at a batch size: planned and completed, without price. `exact` walks the batch.
void scheduler_step(benchmark::State& state, bool exact) {
  const auto scheduler = find_row(schedulers(), "vllm_v1", "scheduler").make(engine(state.range(0), exact), "benchmark");
  std::deque<Request> requests;
  Silent listener;
  Time now;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    Request& request = requests.emplace_back();
    request.spec.row = i;
    request.spec.input = Tokens{512};
    request.spec.output = request.spec.max_tokens = Tokens{1'000'000};
    scheduler->add(request, now);
  }
  StepPlan plan;
  for (auto _ : state) {
    plan.clear();
    if (!scheduler->plan(now, plan, listener)) state.SkipWithError("nothing to run");
    now += Duration::milliseconds(1);
    scheduler->complete(now, listener);
  }
}
BENCHMARK_CAPTURE(scheduler_step, fast, false)->Arg(1)->Arg(32)->Arg(256)->Arg(1024)->Iterations(100'000);
BENCHMARK_CAPTURE(scheduler_step, exact, true)->Arg(1)->Arg(32)->Arg(256)->Iterations(2'000);

// A prompt whose blocks are all cached: looked up, taken, given back.
void prefix_look_up(benchmark::State& state) {
  EngineConfig config = engine(8, false);
  config.num_gpu_blocks = 100'000;
  const std::unique_ptr<KvCache> cache = make_kv_cache(config, 1);
  RequestSpec spec;
  spec.input = Tokens{state.range(0)};
  spec.content = std::make_shared<Content>(Content{{1, Tokens{0}, spec.input}});
  KvSequence sequence;
  const auto use = [&] {
    cache->start(sequence, spec);
    const std::int64_t cached = cache->find_prefix(sequence, spec.input.count());
    cache->allocate(sequence, {.computed = cached, .processed = cached, .new_tokens = spec.input.count() - cached, .known = spec.input.count()});
    cache->release(sequence, false);
    return cached;
  };
  use();
  for (auto _ : state) benchmark::DoNotOptimize(use());
}
BENCHMARK(prefix_look_up)->Arg(512)->Arg(8192)->Arg(65536);

}  // namespace
