// The parts of every latency sum to what was measured, to the picosecond: random small scenarios on every engine, real prices,
// memory so tight that requests are preempted.
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "scenarios/explain/breakdown.hpp"
#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::scenario_of;

namespace {

// Measures every request on its own account.
class Stopwatch final : public Observer {
 public:
  struct Measured {
    Duration ttft, decoding;
  };
  void finished(const Request& request, Time now) override {
    measured_[request.spec.row] = {request.first_token - request.sent, now - request.first_token};
  }
  void preempted(const Request&, Time) override { ++preemptions_; }
  void step_done(const StepDone& fact) override {
    if (!fact.plan->batch.chunks.empty() && fact.plan->batch.decode_sequences > 0) ++mixed_steps_;
  }
  [[nodiscard]] const std::map<std::int64_t, Measured>& measured() const { return measured_; }
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }
  [[nodiscard]] std::int64_t mixed_steps() const { return mixed_steps_; }

 private:
  std::map<std::int64_t, Measured> measured_;
  std::int64_t preemptions_ = 0, mixed_steps_ = 0;
};

std::int64_t between(RandomStream& stream, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(stream() % static_cast<std::uint64_t>(high - low + 1));
}

std::string random_scenario(std::uint64_t seed) {
  RandomStream draw(seed, "test", "attribution");
  const std::int64_t input = between(draw, 20, 600);
  const std::int64_t output = between(draw, 1, 60);
  const std::int64_t sequences = between(draw, 2, 16);
  const std::int64_t budget = sequences + between(draw, 16, 300);
  const bool async = between(draw, 0, 1) == 1;
  const bool caching = between(draw, 0, 1) == 1;
  const std::string drafts = async || between(draw, 0, 1) > 0 ? "" : ", speculative_config: {method: ngram, num_speculative_tokens: 3, acceptance: 0.6}";
  const std::string vllm = fmt::format(", max_num_batched_tokens: {}, async_scheduling: {}, enable_prefix_caching: {}{}", budget, async, caching, drafts);
  const std::string whole = fmt::format(", max_num_batched_tokens: {}", input + output + sequences);
  const std::pair<std::string, std::string> engines[] = {
      {"vllm-main-2026", vllm}, {"vllm-0.11", vllm},          {"vllm-v0", whole + (async ? ", preemption_mode: swap" : "")}, {"sglang", fmt::format(", enable_mixed_chunk: {}", async)},
      {"tensorrt-llm", whole},  {"sarathi", fmt::format(", max_num_batched_tokens: {}", budget)}, {"orca", ""},
      {"static", ""},           {"static-early-free", ""},    {"dynamic-batching", ", max_queue_delay: 5 ms"}};
  const auto& [profile, flags] = engines[seed % std::size(engines)];
  // Blocks of 16: from one request of full length to four.
  const std::int64_t block_size = profile == "sglang" ? 1 : 16;
  const std::int64_t longest = (input + output + block_size - 1) / block_size + 2;
  const std::int64_t extra = profile == "sglang" ? 5000 : 0;  // it wants room for 4,096 expected outputs
  return fmt::format(R"(
seed: {}
model: {}
engine: {{profile: {}, block_size: {}, num_gpu_blocks_override: {}, max_num_seqs: {}, max_model_len: {}{}}}
fleet: [{{name: a, gpu: h100-sxm-80gb, replicas: {}}}, {{name: b, gpu: a100-sxm-80gb}}]
router: {{policy: {}}}
workload: {{request_rate: {}, num_prompts: 60, input_tokens: {{distribution: uniform, min: 1, max: {}}},
           output_tokens: {{distribution: uniform, min: 1, max: {}}}{}}}
slo: {{ttft_ms: 100, tpot_ms: 8}}
)",
                     seed, between(draw, 0, 1) == 0 ? "qwen2.5-0.5b" : "llama-3.1-8b", profile, block_size,
                     extra + between(draw, longest, 4 * longest), sequences, input + output, flags, between(draw, 1, 2),
                     between(draw, 0, 1) == 0 ? "round-robin" : "least-outstanding", between(draw, 20, 400), input, output,
                     between(draw, 0, 2) == 0 ? ", max_concurrency: 12" : "");
}

}  // namespace

TEST_CASE("the parts of every latency sum to the measured one, to the picosecond") {
  std::map<TimePart, Duration> seen;
  std::int64_t preemptions = 0, mixed_steps = 0, requests = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string yaml = random_scenario(seed);
    INFO(yaml);
    const Scenario scenario = scenario_of(yaml);
    Stopwatch stopwatch;
    std::vector<std::shared_ptr<StepCost>> costs;
    std::size_t replicas = 0;
    for (const Pool& pool : scenario.fleet) {
      costs.push_back(make_step_cost(scenario, pool));
      replicas += static_cast<std::size_t>(pool.replicas);
    }
    TimeAttribution attribution(std::move(costs), replicas, scenario.slo.limits());
    const RunResult result = run(scenario, {.observers = {&stopwatch, &attribution}});

    REQUIRE(attribution.requests().size() == stopwatch.measured().size());
    std::int64_t good = 0;
    for (const RequestTime& request : attribution.requests()) {
      const Stopwatch::Measured& measured = stopwatch.measured().at(request.row);
      REQUIRE(request.ttft.total() == measured.ttft);
      REQUIRE(request.decoding.total() == measured.decoding);
      if (request.output > 1) REQUIRE(request.tpot().total() == measured.decoding / (request.output - 1));
      for (std::size_t i = 0; i < time_part_count; ++i) {
        const TimePart part{static_cast<std::uint8_t>(i)};
        REQUIRE(request.ttft[part] >= Duration{});
        REQUIRE(request.decoding[part] >= Duration{});
        seen[part] += request.ttft[part] + request.decoding[part];
      }
      good += request.good ? 1 : 0;
    }
    CHECK(good == result.metrics.good);
    preemptions += stopwatch.preemptions();
    mixed_steps += stopwatch.mixed_steps();
    requests += result.metrics.completed;

    // Percentiles and means are those of the run itself.
    const Breakdown breakdown = break_down(attribution.requests(), {"a", "b"}, true);
    CHECK(breakdown.ttft_p50.total().milliseconds() == result.metrics.ttft.p50);
    CHECK(breakdown.ttft_p99.total().milliseconds() == result.metrics.ttft.p99);
    CHECK(breakdown.tpot_p99.total().milliseconds() == result.metrics.tpot.p99);
    CHECK(breakdown.all.ttft.total().milliseconds() == Approx(result.metrics.ttft.mean).epsilon(1e-9));
    CHECK(breakdown.all.tpot.total().milliseconds() == Approx(result.metrics.tpot.mean).epsilon(1e-9));
    CHECK(breakdown.missed->requests == result.metrics.completed - result.metrics.good);
  }
  // The scenarios reach what they are meant to: every part but the communication of one GPU alone.
  CHECK(requests == 6000);
  CHECK(preemptions > 100);
  CHECK(mixed_steps > 1000);
  for (const TimePart part : {TimePart::queue, TimePart::weights, TimePart::kv, TimePart::compute, TimePart::overhead, TimePart::host,
                              TimePart::prefills, TimePart::decodes, TimePart::preempted, TimePart::recomputation, TimePart::swap}) {
    INFO(to_string(part));
    CHECK(seen[part] > Duration{});
  }
}

TEST_CASE("listening for the time of requests changes no run") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Scenario scenario = scenario_of(random_scenario(seed));
    RunResult listened;
    (void)break_down(scenario, listened);
    CHECK(listened.fingerprint == run(scenario).fingerprint);
  }
}
