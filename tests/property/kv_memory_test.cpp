// KV on the GPU and in host memory, whatever the scenario: nothing leaks, what comes back has left before.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::run_text;

namespace {

struct Draw {
  explicit Draw(std::uint64_t seed) : stream(seed, "kv memory test", "scenario") {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <std::size_t N>
  const char* of(const char* const (&choices)[N]) {
    return choices[between(0, static_cast<std::int64_t>(N) - 1)];
  }
  RandomStream stream;
};

// Watches blocks step by step.
class BlockWatcher final : public Observer {
 public:
  void step_done(const StepDone& fact) override {
    const HostTraffic& swapped = fact.plan->swapped;
    out_ += swapped.out.bytes.count();
    in_ += swapped.in.bytes.count();
    if (in_ > out_) conserved_ = false;
    for (const SchedulerLoad& load : {fact.planned, fact.load}) {
      if (load.free_blocks < 0 || load.free_blocks > load.total_blocks || load.host_blocks < 0) in_bounds_ = false;
    }
    if (const auto& waste = fact.plan->waste) {
      if (waste->reserved < Tokens{} || waste->internal < Tokens{} || waste->external < Tokens{}) in_bounds_ = false;
    }
    if (fact.plan->evicted < Tokens{}) in_bounds_ = false;
    last_[fact.replica.value()] = fact.load;
  }
  void finished(const Request& request, Time) override {
    ++finished_;
    final_tokens_.push_back({request.spec.input.count() + request.spec.output.count() - 1, request.spec.output.count()});
  }
  void check(std::int64_t requests) const {
    CHECK(finished_ == requests);
    CHECK(conserved_);
    CHECK(in_bounds_);
    for (const auto& [replica, load] : last_) CHECK(load.free_blocks == load.total_blocks);
  }
  [[nodiscard]] std::int64_t bytes_out() const { return out_; }
  [[nodiscard]] std::int64_t bytes_in() const { return in_; }
  [[nodiscard]] std::int64_t host_blocks() const {
    std::int64_t blocks = 0;
    for (const auto& [replica, load] : last_) blocks += load.host_blocks;
    return blocks;
  }
  /// Tokens dropped by sequences that keep `kept`: by those of one output not at all, if dropping starts with the first decode.
  [[nodiscard]] std::int64_t evicted(std::int64_t kept, bool after_prompt) const {
    std::int64_t sum = 0;
    for (const auto& [tokens, outputs] : final_tokens_) {
      if (outputs > 1 || !after_prompt) sum += std::max<std::int64_t>(0, tokens - kept);
    }
    return sum;
  }

 private:
  std::map<std::uint32_t, SchedulerLoad> last_;
  std::vector<std::pair<std::int64_t, std::int64_t>> final_tokens_;
  std::int64_t out_ = 0, in_ = 0, finished_ = 0;
  bool conserved_ = true, in_bounds_ = true;
};

struct Shape {
  std::int64_t input, output, block, model_len, least_blocks;  // 64 tokens are left for a shared prefix
};

Shape draw_shape(Draw& draw) {
  Shape shape{draw.between(1, 300), draw.between(1, 80), std::int64_t{1} << draw.between(3, 5), 0, 0};
  shape.model_len = shape.input + shape.output;
  shape.least_blocks = (shape.model_len + 64 + shape.block - 1) / shape.block + 2;
  return shape;
}

std::string scenario(Draw& draw, const Shape& shape, const std::string& engine, const std::string& workload = "") {
  return fmt::format(R"(
seed: {}
model: llama-3.1-8b
cost: {{model: constant, step_time: 1 ms}}
fleet: [{{gpu: a100-sxm-80gb, replicas: {}}}]
engine: {{block_size: {}, num_gpu_blocks_override: {}, max_num_seqs: {}, max_model_len: {}, {}}}
workload: {{request_rate: {}, num_prompts: 60, input_tokens: {{distribution: uniform, min: 1, max: {}}},
           output_tokens: {{distribution: uniform, min: 1, max: {}}}{}}}
)",
                     draw.between(1, 1000), draw.between(1, 2), shape.block, shape.least_blocks + draw.between(0, 2 * shape.least_blocks),
                     draw.between(2, 24), shape.model_len + 64, engine, draw.between(50, 600), shape.input, shape.output, workload);
}

}  // namespace

TEST_CASE("Swapped bytes come back, and host blocks are free in the end") {
  std::int64_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    const Shape shape = draw_shape(draw);
    const std::string yaml = scenario(draw, shape, "profile: vllm-v0, preemption_mode: swap, swap_space: 16 GiB");
    INFO(yaml);
    BlockWatcher watcher;
    const RunResult result = run_text(yaml, {.observers = {&watcher}});
    watcher.check(60);
    CHECK(watcher.bytes_in() == watcher.bytes_out());  // all requests end on the GPU
    CHECK(watcher.host_blocks() == 0);
    CHECK(result.metrics.fleet.swapped_out.bytes == static_cast<double>(watcher.bytes_out()));
    CHECK(result.metrics.fleet.swapped_out.sequences == result.metrics.fleet.preemptions);
    moved += watcher.bytes_out();
    // Without a watcher steps are taken in runs; nothing that moved is forgotten.
    const PoolMetrics runs = run_text(yaml).metrics.fleet;
    CHECK(runs.swapped_out.bytes == result.metrics.fleet.swapped_out.bytes);
    CHECK(runs.swapped_in.bytes == result.metrics.fleet.swapped_in.bytes);
    CHECK(runs.host_blocks_peak == result.metrics.fleet.host_blocks_peak);
    CHECK(runs.kv_waste->internal == Approx(result.metrics.fleet.kv_waste->internal));
    CHECK(runs.steps == result.metrics.fleet.steps);
  }
  CHECK(moved > 0);
}

TEST_CASE("The host tier never loads what it did not store, nor grows beyond its size; hits do not fall") {
  double loaded = 0;
  std::int64_t refilled = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    const Shape shape = draw_shape(draw);
    const std::uint64_t again = static_cast<std::uint64_t>(draw.between(1, 1'000'000));
    const auto yaml = [&](const std::string& tier) {
      Draw same(again);
      return scenario(same, shape, fmt::format("async_scheduling: {}{}", seed % 2 == 0, tier),
                      ", shared_prefix: {tokens: 60, count: 12}");
    };
    // 4 to 200 blocks of 128 KiB a token.
    const std::int64_t blocks = draw.between(4, 200);
    BlockWatcher without, with;
    const RunResult plain = run_text(yaml(""), {.observers = {&without}});
    const std::string text = yaml(fmt::format(", kv_offloading_size: {} KiB", 128 * shape.block * blocks));
    INFO(text);
    const RunResult tiered = run_text(text, {.observers = {&with}});
    without.check(60);
    with.check(60);
    const PoolMetrics& fleet = tiered.metrics.fleet;
    CHECK(fleet.host_blocks_peak <= blocks);
    CHECK(with.host_blocks() <= 2 * blocks);  // at most two replicas
    if (fleet.offload_stored.bytes == 0) CHECK(fleet.offload_loaded.bytes == 0);
    loaded += fleet.offload_loaded.bytes;
    refilled += fleet.prompt_tokens_cached > plain.metrics.fleet.prompt_tokens_cached ? 1 : 0;
  }
  CHECK(loaded > 0);
  CHECK(refilled > 5);
}

TEST_CASE("Every token is kept or evicted") {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    const Shape shape = draw_shape(draw);
    const std::int64_t kept = draw.between(8, 100);
    const bool h2o = draw.between(0, 1) == 0;
    const std::string policy = h2o ? fmt::format("{{policy: h2o, budget: {}}}", kept)
                                   : fmt::format("{{policy: streaming-llm, sinks: 4, window: {}}}", kept - 4);
    const std::string yaml = scenario(draw, shape, fmt::format("max_num_batched_tokens: {}, kv_eviction: {}", draw.between(30, 200), policy));
    INFO(yaml);
    BlockWatcher watcher;
    const RunResult result = run_text(yaml, {.observers = {&watcher}});
    watcher.check(60);
    // Recomputation evicts again.
    if (result.metrics.fleet.preemptions == 0) {
      ++exact;
      CHECK(result.metrics.fleet.kv_evicted_tokens == watcher.evicted(kept, h2o));
    } else {
      CHECK(result.metrics.fleet.kv_evicted_tokens >= watcher.evicted(kept, h2o));
    }
  }
  CHECK(exact > 10);
}

TEST_CASE("Contiguous engines never preempt, and count their waste within the pool") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    const Shape shape = draw_shape(draw);
    const char* profile = draw.of({"orca", "static", "static-early-free", "dynamic-batching"});
    const char* policy = draw.of({"max", "pow2", "oracle"});
    const std::string yaml = scenario(draw, shape, fmt::format("profile: {}, watermark: 0, kv_reservation: {}", profile, policy));
    INFO(yaml);
    BlockWatcher watcher;
    const RunResult result = run_text(yaml, {.observers = {&watcher}});
    watcher.check(60);
    CHECK(result.metrics.fleet.preemptions == 0);
    const KvWasteMetrics waste = result.metrics.fleet.kv_waste.value();
    CHECK(waste.reserved + waste.internal <= result.metrics.fleet.kv_cache_usage_mean + 1e-9);
    CHECK(waste.reserved + waste.internal + waste.external <= 1.0);
  }
}
