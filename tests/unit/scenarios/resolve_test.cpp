// The resolved scenario: every default written out, itself a scenario with the same result.
#include "scenarios/build/run.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/report/run_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

void check_round_trip(const std::string& yaml) {
  INFO(yaml);
  const Scenario first = scenario_from(yaml);
  const Scenario from_yaml = resolve_scenario(Config::parse(first.resolved.to_yaml(), "resolved.yaml"));
  CHECK(to_json(from_yaml.resolved) == to_json(first.resolved));
  const Scenario from_json = resolve_scenario(to_config(to_json(first.resolved), "resolved.json"));
  CHECK(to_json(from_json.resolved) == to_json(first.resolved));
  CHECK(run_json(from_yaml, run(from_yaml)) == run_json(first, run(first)));
}

}  // namespace

TEST_CASE("A resolved scenario is a scenario with the same result") {
  check_round_trip(one_gpu("h100-sxm-80gb"));
  check_round_trip(one_gpu("a100-sxm-80gb", "{quantization: fp8, kv_cache_dtype: fp8, max_model_len: 8192, profile: vllm-0.11}"));
  check_round_trip(one_gpu("h100-sxm-80gb", "{kv_cache_memory_bytes: 20 GiB, host_overhead: {per_step: 123.5 us}}"));
  check_round_trip(one_gpu("h100-sxm-80gb", "{num_gpu_blocks_override: 2000}") + "slo: {ttft_ms: 12.5, tpot_ms: 8, goodput: 0.9}\nrouter: {policy: least-kv}\nseed: 7\n");
  check_round_trip(constant_cost());
  for (const char* profile : {"vllm-v0", "sarathi", "tensorrt-llm", "orca", "static", "static-early-free"}) {
    check_round_trip("engine: {profile: " + std::string(profile) + ", max_model_len: 256, num_gpu_blocks_override: 200, max_num_seqs: 4}\n"
                     "fleet: [{}]\ncost: {model: constant, step_time: 1.5 ms}\n"
                     "workload: {arrival: all_at_once, num_prompts: 6, input_tokens: 40, output_tokens: 9}\n");
  }
}

TEST_CASE("Pool settings win over defaults, and defaults reach every pool") {
  const Scenario scenario = scenario_from("model: llama-3.1-8b\nengine: {max_num_seqs: 32, block_size: 32}\n"
                                          "fleet: [{gpu: h100-sxm-80gb, engine: {max_num_seqs: 64}}, {gpu: l40s}]\n"
                                          "workload: {request_rate: 1, num_prompts: 5, input_tokens: 5, output_tokens: 5}\n");
  CHECK(scenario.fleet[0].engine.max_num_seqs == 64);
  CHECK(scenario.fleet[0].engine.block_size == 32);
  CHECK(scenario.fleet[1].engine.max_num_seqs == 32);
  CHECK(scenario.fleet[1].engine.block_size == 32);
}

TEST_CASE("Blocks are counted per GPU, whatever the parallelism") {
  // Llama-3.1-8B: 32 layers x 8 KV heads x 128 x (K + V) x 2 B = 131,072 B a token on one GPU, half of it on each of two.
  const Scenario one = scenario_from(one_gpu("h100-sxm-80gb", "{kv_cache_memory_bytes: 20 GiB}"));
  CHECK(one.fleet[0].engine.num_gpu_blocks == 20LL * 1024 * 1024 * 1024 / (131072 * 16));
  const Scenario two = scenario_from(one_gpu("h100-sxm-80gb", "{kv_cache_memory_bytes: 20 GiB, tensor_parallel_size: 2}"));
  CHECK(two.fleet[0].engine.num_gpu_blocks == 2 * one.fleet[0].engine.num_gpu_blocks);
  const std::int64_t bytes = two.fleet[0].engine.num_gpu_blocks * two.fleet[0].memory->layout.block_bytes().count();
  CHECK(bytes <= two.fleet[0].gpu->memory_visible.count());
}
