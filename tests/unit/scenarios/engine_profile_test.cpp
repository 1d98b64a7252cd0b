// What engines do when their flags are left alone.
#include "scenarios/load/resolve_engine.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

TEST_CASE("Token budget and batch limit follow the GPU as vLLM's do") {
  struct Row {
    const char* gpu;
    std::int64_t main_2026, v011, sequences;
  };
  // vLLM main: 16,384 from 160 GiB, 8,192 from 70 GiB unless it is an A100, else 2,048; before 2026-08-11 no first tier.
  for (const Row& row : {Row{"mi300x", 16384, 8192, 1024}, Row{"b200", 16384, 8192, 1024}, Row{"h200-sxm", 8192, 8192, 1024},
                         Row{"h100-sxm-80gb", 8192, 8192, 1024}, Row{"a100-sxm-80gb", 2048, 2048, 256}, Row{"l4", 2048, 2048, 256}}) {
    INFO(row.gpu);
    const Scenario main = scenario_from(one_gpu(row.gpu, "{profile: vllm-main-2026, max_model_len: 8192}"));
    const Scenario old = scenario_from(one_gpu(row.gpu, "{profile: vllm-0.11, max_model_len: 8192}"));
    CHECK(main.fleet[0].engine.max_num_batched_tokens == row.main_2026);
    CHECK(old.fleet[0].engine.max_num_batched_tokens == row.v011);
    CHECK(main.fleet[0].engine.max_num_seqs == row.sequences);
    CHECK(main.fleet[0].gpu_memory_utilization == 0.92);
    CHECK(old.fleet[0].gpu_memory_utilization == 0.90);
  }
}

TEST_CASE("A larger token budget never leaves more KV") {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const int budget : {512, 2048, 8192, 16384}) {
    const Scenario scenario = scenario_from(one_gpu("h100-sxm-80gb", "{max_num_batched_tokens: " + std::to_string(budget) + "}"));
    CHECK(scenario.fleet[0].engine.num_gpu_blocks <= before);
    before = scenario.fleet[0].engine.num_gpu_blocks;
  }
}

TEST_CASE("CUDA graph sizes") {
  // 1, 2, 4; 8 to 248 by 8 (31 sizes); 256 to 512 by 16 (17): 51 for a batch limit of 1,024 on an H100.
  const Pool pool = scenario_from(one_gpu("h100-sxm-80gb")).fleet[0];
  const std::vector<std::int64_t>& sizes = pool.cudagraph_capture_sizes;
  REQUIRE(sizes.size() == 51);
  const auto padded = [&](std::int64_t n) {
    const auto at = std::lower_bound(sizes.begin(), sizes.end(), n);
    return at == sizes.end() ? 0 : *at;
  };
  CHECK(padded(3) == 4);
  CHECK(padded(9) == 16);
  CHECK(padded(250) == 256);
  CHECK(padded(257) == 272);
  CHECK(padded(513) == 0);
  CHECK(scenario_from(one_gpu("h100-sxm-80gb", "{enforce_eager: true}")).fleet[0].cudagraph_capture_sizes.empty());
}

TEST_CASE("Profiles differ where the engines do") {
  const EngineConfig main = scenario_from(one_gpu("h100-sxm-80gb")).fleet[0].engine;
  CHECK(main.async_scheduling);
  CHECK(main.scheduler_reserve_full_isl);
  CHECK(main.watermark == 0.0);
  const EngineConfig old = scenario_from(one_gpu("h100-sxm-80gb", "{profile: vllm-0.11}")).fleet[0].engine;
  CHECK_FALSE(old.async_scheduling);
  CHECK_FALSE(old.scheduler_reserve_full_isl);
  CHECK(old.chunked_off_skips);
  CHECK(old.block_size == 16);
}

TEST_CASE("Every profile names itself and its options once") {
  for (const EngineProfile& row : engine_profiles()) {
    CHECK(find_engine_profile(row.name) == &row);
    for (const std::string& alias : row.aliases) CHECK(find_engine_profile(alias) == &row);
    CHECK_FALSE(row.description.empty());
  }
  CHECK(find_engine_profile("vllm-3") == nullptr);
}

TEST_CASE("Weights in a format the GPU can't multiply stay packed") {
  const Scenario scenario = scenario_from(one_gpu("a100-sxm-80gb", "{quantization: fp8, max_model_len: 8192}"));
  REQUIRE(scenario.warnings.size() == 1);
  CHECK(scenario.warnings[0].message.find("no fp8 tensor cores") != std::string::npos);
  for (const WeightFormat& format : scenario.fleet[0].model->formats) CHECK(format.math == DType::bf16);
}
