// Options of KV memory as scenarios state them: who has them, what they need, how they come out resolved.
#include "hardware/host_link.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

bool mentions(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

/// Llama-3.1-8B on one H100: 128 KiB of KV a token, 2 MiB a block of 16.
std::string mistakes_of_engine(const std::string& engine) {
  const std::string message = mistakes_in(one_gpu("h100-sxm-80gb", engine));
  UNSCOPED_INFO(message);
  return message;
}

EngineConfig engine_of(const std::string& engine) { return scenario_from(one_gpu("h100-sxm-80gb", engine)).fleet[0].engine; }

}  // namespace

TEST_CASE("Swap space in blocks, copies and the link's pace") {
  const EngineConfig swap = engine_of("{profile: vllm-v0, max_model_len: 8192, preemption_mode: swap}");
  CHECK(swap.host_kv.block_bytes == 2_MiB);
  CHECK(swap.host_kv.swap_blocks == 2048);      // 4 GiB, vLLM's default
  CHECK(swap.host_kv.copies_per_block == 64);   // K and V of 32 layers
  CHECK(engine_of("{profile: vllm-v0, max_model_len: 8192, preemption_mode: swap, swap_space: 1 GiB}").host_kv.swap_blocks == 512);
  CHECK(engine_of("{profile: vllm-v0, max_model_len: 8192}").preemption_mode == "recompute");
  // Two GPUs hold half a block each; swap space is a GPU's.
  const EngineConfig two = engine_of("{profile: vllm-v0, max_model_len: 8192, preemption_mode: swap, tensor_parallel_size: 2}");
  CHECK(two.host_kv.block_bytes == 1_MiB);
  CHECK(two.host_kv.swap_blocks == 4096);
  // 64 copies of 32 KiB: 320 us to submit, 37.9 us of bytes at 55.4 GB/s.
  const HostLink link = host_link(load_gpu("h100-sxm-80gb"));
  CHECK(link.bandwidth.count() == Approx(55.4e9));
  CHECK(link.time({.sequences = 1, .blocks = 1, .copies = 64, .bytes = 2_MiB}) == Duration::microseconds(320));
  CHECK(link.time({.sequences = 1, .blocks = 1, .copies = 1, .bytes = 2_MiB}).seconds() == Approx(37.85e-6).epsilon(1e-3));
  CHECK(host_link(load_gpu("gh200-96gb")).bandwidth.count() == Approx(359e9));
}

TEST_CASE("The offload tier is shared by the GPUs of a replica") {
  CHECK(engine_of("{kv_offloading_size: 8 GiB}").host_kv.offload_blocks == 4096);
  const EngineConfig two = engine_of("{kv_offloading_size: 8 GiB, tensor_parallel_size: 2}");
  CHECK(two.host_kv.block_bytes == 1_MiB);
  CHECK(two.host_kv.offload_blocks == 4096);
}

TEST_CASE("Engines without an option refuse it by name") {
  for (const char* profile : {"vllm-main-2026", "vllm-0.11", "sarathi", "sglang"}) {
    INFO(profile);
    const std::string message = mistakes_of_engine(std::string("{profile: ") + profile + ", max_model_len: 8192, preemption_mode: swap}");
    CHECK(mentions(message, profile));
    CHECK(mentions(message, "vllm-v0"));
  }
  CHECK(mentions(mistakes_of_engine("{profile: vllm-0.11, kv_offloading_size: 8 GiB}"), "vllm-main-2026"));
  CHECK(mentions(mistakes_of_engine("{kv_reservation: max}"), "orca"));
  CHECK(mentions(mistakes_of_engine("{profile: vllm-v0, kv_eviction: {policy: h2o, budget: 64}}"), "vllm-main-2026"));
  CHECK(mentions(mistakes_of_engine("{profile: static, kv_cache_memory_bytes: 10 GiB, kv_reservation: paged}"), "pow2"));
}

TEST_CASE("Options that would have no effect, or no meaning, are mistakes") {
  CHECK(mentions(mistakes_of_engine("{profile: vllm-v0, max_model_len: 8192, swap_space: 4 GiB}"), "preemption_mode"));
  CHECK(mentions(mistakes_of_engine("{profile: vllm-v0, max_model_len: 8192, preemption_mode: swap, swap_space: 4}"), "swap_space"));
  CHECK(mentions(mistakes_of_engine("{kv_offloading_size: 8 GiB, enable_prefix_caching: false}"), "enable_prefix_caching"));
  CHECK(mentions(mistakes_of_engine("{kv_offloading_size: 1 KiB}"), "no KV block"));
  CHECK(mentions(mistakes_of_engine("{kv_eviction: {sinks: 4}}"), "policy"));
  CHECK(mentions(mistakes_of_engine("{kv_eviction: {policy: streaming-llm}}"), "window"));
  CHECK(mentions(mistakes_of_engine("{kv_eviction: {policy: h2o, budget: 64, window: 3}}"), "window"));
  CHECK(mentions(mistakes_of_engine("{kv_eviction: {policy: h2o, budget: 64}, enable_prefix_caching: true}"), "enable_prefix_caching"));
  const auto on_gpt_oss = [](const std::string& engine) {
    return mistakes_in("model: gpt-oss-120b\nfleet: [{gpu: h200-sxm, engine: " + engine + "}]\n"
                       "workload: {request_rate: 1, num_prompts: 1, input_tokens: 10, output_tokens: 10}\n");
  };
  CHECK(mentions(on_gpt_oss("{kv_eviction: {policy: h2o, budget: 64}}"), "sliding-window"));
  CHECK(mentions(on_gpt_oss("{kv_offloading_size: 8 GiB}"), "sliding-window"));
  CHECK(mentions(mistakes_in("engine: {profile: vllm-v0, max_model_len: 4096, num_gpu_blocks_override: 100, preemption_mode: swap}\n"
                             "fleet: [{replicas: 1}]\ncost: {model: constant, step_time: 1 ms}\n"
                             "workload: {request_rate: 1, num_prompts: 1, input_tokens: 10, output_tokens: 10}\n"),
                 "needs a model"));
}

TEST_CASE("Token eviction turns prefix caching off and lets longer contexts fit") {
  CHECK_FALSE(engine_of("{kv_eviction: {policy: streaming-llm, window: 1020}}").enable_prefix_caching);
  CHECK(engine_of("{kv_eviction: {policy: streaming-llm, window: 1020}}").kv_eviction.sinks == 4);
  // 1 GiB holds 8,192 tokens: too few for 131,072, enough for 1,024 and a piece of 4,096.
  CHECK(mentions(mistakes_of_engine("{kv_cache_memory_bytes: 1 GiB}"), "does not fit"));
  CHECK(mistakes_of_engine("{kv_cache_memory_bytes: 1 GiB, max_num_batched_tokens: 4096, "
                           "kv_eviction: {policy: streaming-llm, window: 1020}}").empty());
  CHECK(mentions(mistakes_of_engine("{kv_cache_memory_bytes: 1 GiB, max_num_batched_tokens: 4096, kv_eviction: {policy: h2o, budget: 1024}}"),
                 "does not fit"));
}

TEST_CASE("KV options survive into the resolved scenario") {
  for (const char* engine : {"{profile: vllm-v0, max_model_len: 8192, preemption_mode: swap, swap_space: 3 GiB}",
                             "{kv_offloading_size: 8 GiB}", "{kv_eviction: {policy: streaming-llm, sinks: 8, window: 504}}",
                             "{kv_eviction: {policy: h2o, budget: 512}}",
                             "{profile: orca, kv_cache_memory_bytes: 20 GiB, max_model_len: 2048, kv_reservation: pow2}"}) {
    INFO(engine);
    const Scenario first = scenario_from(one_gpu("h100-sxm-80gb", engine));
    const Scenario again = resolve_scenario(first.resolved);
    const EngineConfig& a = first.fleet[0].engine;
    const EngineConfig& b = again.fleet[0].engine;
    CHECK(a.preemption_mode == b.preemption_mode);
    CHECK(a.host_kv.swap_blocks == b.host_kv.swap_blocks);
    CHECK(a.host_kv.offload_blocks == b.host_kv.offload_blocks);
    CHECK(a.kv_reservation == b.kv_reservation);
    CHECK(a.kv_eviction.policy == b.kv_eviction.policy);
    CHECK(a.kv_eviction.most_kept() == b.kv_eviction.most_kept());
  }
}
