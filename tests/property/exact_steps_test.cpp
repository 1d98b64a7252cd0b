// Runs of decode steps, the lockstep and blocks kept as counts change nothing: over random fleets, the result is the same, byte
// for byte, as when every step is an event and every request and KV block is walked.
#include <string>

#include <fmt/format.h>

#include "scenarios/report/request_log.hpp"
#include "scenarios/report/run_json.hpp"
#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::scenario_of;

namespace {

struct Draw {
  explicit Draw(std::uint64_t seed) : stream(seed, "exact_steps_test", "scenario") {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <std::size_t N>
  const char* of(const char* const (&choices)[N]) {
    return choices[between(0, static_cast<std::int64_t>(N) - 1)];
  }
  RandomStream stream;
};

std::string engine(Draw& draw, std::int64_t model_len) {
  const char* profile = draw.one_in(3) ? draw.of({"vllm-0.11", "vllm-v0", "sglang", "tensorrt-llm", "sarathi", "orca", "static",
                                                  "static-early-free", "dynamic-batching"})
                                       : "vllm-main-2026";
  const bool vllm_v1 = std::string_view(profile) == "vllm-main-2026" || std::string_view(profile) == "vllm-0.11";
  const std::int64_t least_blocks = 2 * ((model_len + 15) / 16) + 2;
  std::string text = fmt::format("{{profile: {}, max_num_seqs: {}, max_model_len: {}, num_gpu_blocks_override: {}", profile,
                                 draw.between(2, 40), model_len, least_blocks + draw.between(0, draw.one_in(2) ? least_blocks : 8 * least_blocks));
  if (vllm_v1) {
    text += fmt::format(", max_num_batched_tokens: {}, enable_prefix_caching: {}, async_scheduling: {}", draw.between(48, 400),
                        draw.one_in(2), draw.one_in(2));
  }
  return text + "}";
}

std::string random_scenario(std::uint64_t seed) {
  Draw draw(seed);
  const std::int64_t longest_input = draw.between(16, 300);
  const std::int64_t longest_output = draw.between(8, 120);
  const std::int64_t prefix = draw.one_in(3) ? draw.between(20, 100) : 0;
  // Constant steps and arrivals on the same grid: everything happens at once.
  const bool priced = draw.one_in(2);
  const std::string cost = priced ? "" : "cost: {model: constant, step_time: 1 ms}\n";
  const std::string pool = fmt::format("{{name: a, replicas: {}{}}}", draw.between(1, 5), priced ? ", gpu: h100-sxm-80gb" : "");
  const char* model = draw.of({"llama-3.1-8b", "gemma-3-27b"});
  return fmt::format(R"(
seed: {}
{}{}engine: {}
fleet: [{}]
router: {{policy: {}}}
workload: {{arrival: {{process: {}, request_rate: {}}}, num_prompts: {}, input_tokens: {{distribution: uniform, min: 1, max: {}}},
           output_tokens: {{distribution: uniform, min: 1, max: {}}}{}{}}}
)",
                     seed, priced ? fmt::format("model: {}\n", model) : "", cost, engine(draw, longest_input + longest_output + prefix), pool,
                     draw.of({"round-robin", "random", "least-outstanding", "power-of-two", "least-kv"}),
                     draw.of({"poisson", "constant"}), draw.one_in(2) ? 100 : draw.between(10, 400), draw.between(1, 150),
                     longest_input, longest_output, draw.one_in(3) ? fmt::format(", max_concurrency: {}", draw.between(1, 60)) : "",
                     prefix > 0 ? fmt::format(", shared_prefix: {{tokens: {}, count: 2}}", prefix) : "");
}

struct Outcome {
  std::string json;
  std::string requests;
};

Outcome outcome(const Scenario& scenario, bool exact_steps) {
  MemorySink text;
  RequestLog log(text, {"a"});
  try {
    const RunResult result = run(scenario, {.observers = {&log}, .exact_steps = exact_steps});
    return {run_json(scenario, result).dump(1), text.text()};
  } catch (const ConfigError& error) {
    return {error.what(), text.text()};  // an engine that would crash or hang here
  }
}

}  // namespace

TEST_CASE("a run is the same, byte for byte, with every step taken by itself") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string yaml = random_scenario(seed);
    INFO(yaml);
    const Scenario scenario = scenario_of(yaml);
    const Outcome exact = outcome(scenario, true);
    const Outcome fast = outcome(scenario, false);
    REQUIRE(fast.requests == exact.requests);
    REQUIRE(fast.json == exact.json);
  }
}
