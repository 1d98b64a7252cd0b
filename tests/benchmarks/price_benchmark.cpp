// What a price costs: one operator, and one memoised step.
#include <benchmark/benchmark.h>

#include "scenarios/build/step_cost.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "sim/base/config.hpp"

namespace {

using namespace ridgeline;

const Scenario& scenario() {
  static const Scenario loaded = resolve_scenario(Config::parse(R"(
model: llama-3.1-8b
fleet: [{gpu: h100-sxm-80gb}]
workload: {arrival: all_at_once, num_prompts: 1, input_tokens: 16, output_tokens: 16}
)",
                                                                "benchmark"));
  return loaded;
}

BatchShape decode_batch(std::int64_t sequences) {
  BatchShape batch;
  batch.decode_sequences = batch.sampled_sequences = sequences;
  batch.decode_queries = Tokens{sequences};
  batch.decode_context = Tokens{sequences * 1024};
  return batch;
}

// One operator of a decode step, by its place in execution order.
void price_operator(benchmark::State& state) {
  const Pool& pool = scenario().fleet.front();
  const auto device = make_device(scenario(), pool);
  const BatchShape batch = decode_batch(64);
  const StepWork work = make_work_model(pool)->lower(batch);
  const Op& op = work.ops.at(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(device->price(op));
  state.SetLabel(std::string(op.name));
}
BENCHMARK(price_operator)->DenseRange(1, 9);

// A step whose row counts were priced before: two look-ups and one attention price.
void price_step(benchmark::State& state) {
  const auto cost = make_step_cost(scenario(), scenario().fleet.front());
  BatchShape batch = decode_batch(state.range(0));
  for (auto _ : state) {
    batch.decode_context += Tokens{state.range(0)};
    benchmark::DoNotOptimize(cost->of(batch));
    if (batch.decode_context > Tokens{state.range(0) * 4096}) batch.decode_context = Tokens{state.range(0) * 1024};
  }
}
BENCHMARK(price_step)->Arg(1)->Arg(32)->Arg(256);

}  // namespace
