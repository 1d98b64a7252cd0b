#include "tests/unit/sim/engine_scenario.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

EngineConfig sarathi(std::int64_t blocks, std::int64_t chunk) {
  EngineConfig engine;
  engine.scheduler = "sarathi";
  engine.num_gpu_blocks = blocks;
  engine.max_num_batched_tokens = chunk;
  engine.watermark = 0.01;
  return engine;
}

}  // namespace

TEST_CASE("Sarathi: every schedule case") { check_schedule_cases("sarathi-"); }

TEST_CASE("Sarathi: decodes ride along, prompts fill the chunk") {
  // Chunk 64, 100 blocks of 16. A(10,N8); at step 2 come B(150,N3) and C(40,N2).
  EngineScenario scenario(sarathi(100, 64));
  scenario.add(10, 8).add(150, 3, 0, 2).add(40, 2, 0, 2).run();
  CHECK(scenario.batch(1) == "0:prefill 10");
  CHECK(scenario.batch(2) == "0:decode 1, 1:prefill 63");
  CHECK(scenario.free_after(2) == 89);  // A 1 block, B its whole prompt: 10
  CHECK(scenario.batch(3) == "0:decode 1, 1:prefill 63");
  CHECK(scenario.batch(4) == "0:decode 1, 1:prefill 24, 2:prefill 39");
  CHECK(scenario.batch(5) == "0:decode 1, 1:decode 1, 2:prefill 1");
  CHECK(scenario.batch(6) == "0:decode 1, 1:decode 1, 2:decode 1");
  CHECK(scenario.last_step_of(1) == 6);
  CHECK(scenario.last_step_of(2) == 6);
  CHECK(scenario.free_after(6) == 99);
  CHECK(scenario.last_step_of(0) == 8);
}

TEST_CASE("Sarathi: a victim waits at least a step") {
  // 4 blocks of 16, no watermark block (1 % of 4 is 0). A(30,N20) and B(30,N20) take 2 blocks each and fill the pool.
  // Step 2: A's decode wants a free block and there is none: B, the later, goes. A has 31 tokens then, no new block.
  EngineScenario scenario(sarathi(4, 64));
  scenario.add(30, 20).add(30, 20).run();
  CHECK(scenario.batch(1) == "0:prefill 30, 1:prefill 30");
  CHECK(scenario.batch(2) == "0:decode 1, 1:preempted");
  CHECK(scenario.waiting_after(2) == 1);
  // Step 3 admits it again with its output as prompt; step 4 throws it out again.
  CHECK(scenario.batch(3) == "0:decode 1, 1:prefill 31");
  CHECK(scenario.batch(4) == "0:decode 1, 1:preempted");
}

TEST_CASE("Sarathi: refuses what can never fit") {
  EngineScenario scenario(sarathi(4, 64));
  scenario.add(60, 10);  // 69 tokens with KV at the end: 5 blocks
  CHECK_THROWS_AS(scenario.run(), ConfigError);
}
