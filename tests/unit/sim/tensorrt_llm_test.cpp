#include "tests/unit/sim/engine_scenario.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

EngineConfig tensorrt_llm(const std::string& capacity_policy, std::int64_t blocks) {
  EngineConfig engine;
  engine.scheduler = "tensorrt_llm";
  engine.capacity_policy = capacity_policy;
  engine.block_size = 32;
  engine.num_gpu_blocks = blocks;
  engine.enable_chunked_prefill = false;
  return engine;
}

}  // namespace

TEST_CASE("TensorRT-LLM: every schedule case") { check_schedule_cases("tensorrt_llm-"); }

TEST_CASE("TensorRT-LLM: no-evict reserves to the end and stops at the first that does not fit") {
  // Blocks to the end: R1(100+100) 7, R2(60+60) 4, R3(20+12) 1, R4(33+10) 2.
  EngineScenario by_number(tensorrt_llm("guaranteed_no_evict", 12));
  by_number.add(100, 100).add(60, 60).add(20, 12).add(33, 10).run();
  CHECK(by_number.batch(1) == "0:prefill 100, 1:prefill 60, 2:prefill 20");

  EngineScenario small_last(tensorrt_llm("guaranteed_no_evict", 12));
  small_last.add(100, 100).add(60, 60).add(33, 10).add(20, 12).run();
  CHECK(small_last.batch(1) == "0:prefill 100, 1:prefill 60");  // R3 would fit, but R4 is before it
}

TEST_CASE("TensorRT-LLM: max utilization admits by the next step and pauses the last started") {
  // Prompts take 4+2+1+2 = 9 blocks. R2 has 60 tokens; its 5th generation writes the 65th and opens a block: R4 is paused
  // with 5 outputs, so that its prompt has 38 tokens and 5 are left to generate.
  EngineScenario scenario(tensorrt_llm("max_utilization", 9));
  scenario.add(100, 100).add(60, 60).add(20, 12).add(33, 10).run();
  CHECK(scenario.running_after(1) == 4);
  CHECK(scenario.free_after(1) == 0);
  CHECK(scenario.batch(5) == "0:decode 1, 1:decode 1, 2:decode 1, 3:decode 1");
  CHECK(scenario.batch(6) == "0:decode 1, 1:decode 1, 2:decode 1, 3:preempted");
  CHECK(scenario.step(6).back().output == 5);
  CHECK(scenario.free_after(6) == 1);
  // R4 comes back when two blocks are free: R3 ends in step 12 and leaves its block.
  CHECK(scenario.batch(13) == "0:decode 1, 1:decode 1, 3:prefill 38");
  CHECK(scenario.last_step_of(3) == 17);
}

TEST_CASE("TensorRT-LLM: static batches") {
  EngineScenario scenario(tensorrt_llm("static_batch", 12));
  scenario.add(20, 3).add(20, 6).add(20, 2, 0, 2).run();
  CHECK(scenario.batch(1) == "0:prefill 20, 1:prefill 20");
  CHECK(scenario.batch(6) == "1:decode 1");
  CHECK(scenario.batch(7) == "2:prefill 20");
}

TEST_CASE("TensorRT-LLM: chunked context, first come first served or equal progress") {
  EngineConfig engine = tensorrt_llm("guaranteed_no_evict", 100);
  engine.enable_chunked_prefill = true;
  engine.max_num_batched_tokens = 100;
  engine.chunk_unit = 32;
  EngineScenario in_order(engine);
  in_order.add(80, 2).add(90, 2).add(10, 2).run();
  // 80 whole; of 20 left the second gets no whole unit of 32; the third still fits.
  CHECK(in_order.batch(1) == "0:prefill 80, 2:prefill 10");

  engine.chunk_policy = "equal_progress";
  EngineScenario equal(engine);
  equal.add(80, 2).add(90, 2).add(10, 2).run();
  // Round 1: 32 + 32 + 10 = 74; another unit of 32 fits nobody in the 26 left.
  CHECK(equal.batch(1) == "0:prefill 32, 1:prefill 32, 2:prefill 10");
}

TEST_CASE("TensorRT-LLM: a huge max_tokens keeps others out of a no-evict pool") {
  // NVIDIA/TensorRT-LLM#2866, #1012. Pool 12,288 tokens = 384 blocks; A(1000, max 11,000) reserves 375 of them, B to E
  // (500, max 200) want 22 each. A ends with its 50th output.
  const auto serve = [](const std::string& policy) {
    EngineScenario scenario(tensorrt_llm(policy, 384));
    scenario.add(1000, 50, 11000);
    for (int i = 0; i < 4; ++i) scenario.add(500, 200, 200, 11);
    return scenario.run();
  };
  const EngineScenario reserved = serve("guaranteed_no_evict");
  CHECK(reserved.batch(11) == "0:decode 1");
  CHECK(reserved.waiting_after(50) == 4);
  CHECK(reserved.last_step_of(0) == 50);
  CHECK(reserved.batch(51) == "1:prefill 500, 2:prefill 500, 3:prefill 500, 4:prefill 500");

  const EngineScenario greedy = serve("max_utilization");
  CHECK(greedy.batch(11) == "0:decode 1, 1:prefill 500, 2:prefill 500, 3:prefill 500, 4:prefill 500");

  EngineScenario too_long(tensorrt_llm("guaranteed_no_evict", 384));
  too_long.add(1000, 50, 11500);
  CHECK_THROWS_AS(too_long.run(), ConfigError);
}

TEST_CASE("TensorRT-LLM: a context waits a step for the block that another is producing") {
  // Two prompts begin with the same 64 tokens, two blocks of 32. The second's first new block is the first's first: it sits out
  // step 1, and in step 2 finds 64 tokens. The third shares nothing and does not wait.
  EngineConfig engine = tensorrt_llm("guaranteed_no_evict", 100);
  EngineScenario scenario(engine);
  scenario.add(100, 3).add(100, 3).add(50, 3).share(0, 64).share(1, 64).run();
  CHECK(scenario.batch(1) == "0:prefill 100, 2:prefill 50");
  CHECK(scenario.batch(2) == "0:decode 1, 2:decode 1, 1:prefill 36");
  // 100 + 3 and 50 + 3 tokens hold 4 and 2 blocks; the second adds two to the two it shares.
  CHECK(scenario.free_after(2) == 100 - 4 - 2 - 2);

  engine.enable_prefix_caching = false;
  EngineScenario alone(engine);
  alone.add(100, 3).add(100, 3).share(0, 64).share(1, 64).run();
  CHECK(alone.batch(1) == "0:prefill 100, 1:prefill 100");
}

TEST_CASE("TensorRT-LLM: pausing frees only what no other request shares") {
  // Nine blocks of 32. A and B begin with the same 64 tokens: A takes 3 blocks, B, a step later, one more than the two shared;
  // 5 are left. Their third blocks fill at 96 tokens; C (130 tokens, 5 blocks) comes at step 3 and takes the rest. Whoever then
  // needs a block pauses C, the last started, with its five.
  EngineConfig engine = tensorrt_llm("max_utilization", 9);
  EngineScenario scenario(engine);
  scenario.add(90, 40).add(90, 40).add(130, 20, 0, 3).share(0, 64).share(1, 64).run();
  CHECK(scenario.batch(3) == "0:decode 1, 1:decode 1, 2:prefill 130");
  CHECK(scenario.free_after(3) == 0);
  CHECK(scenario.last_step_of(0) == 40);
  CHECK(scenario.last_step_of(1) == 41);
  CHECK(scenario.last_step_of(2) > 41);
}

TEST_CASE("TensorRT-LLM: unknown policies are refused by name") {
  EngineScenario capacity(tensorrt_llm("max_utilisation", 9));
  CHECK_THROWS_AS(capacity.add(1, 1).run(), ConfigError);
}
