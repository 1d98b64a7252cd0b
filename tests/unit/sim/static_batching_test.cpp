#include "sim/scheduling/static_batching.hpp"

#include "tests/unit/sim/engine_scenario.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

EngineConfig batches_of(const std::string& scheduler, std::int64_t rows) {
  EngineConfig engine;
  engine.scheduler = scheduler;
  engine.max_num_seqs = rows;
  engine.max_model_len = 64;   // reserved by every row: 4 blocks
  engine.num_gpu_blocks = 40;
  return engine;
}

class Nobody : public SchedulerListener {
  void admitted(Request&, Tokens) override {}
  void preempted(Request&) override {}
  void first_token(Request&) override {}
  void chunks(std::int64_t, std::int64_t, Time) override {}
  void finished(Request&) override {}
};

Request request(std::int64_t row, std::int64_t input, std::int64_t output) {
  Request request;
  request.spec.row = row;
  request.spec.input = Tokens{input};
  request.spec.output = request.spec.max_tokens = Tokens{output};
  return request;
}

Time at(std::int64_t milliseconds) { return Time{Duration::milliseconds(milliseconds)}; }

}  // namespace

TEST_CASE("Static batching: every schedule case") { check_schedule_cases("static"); }
TEST_CASE("Orca: every schedule case") { check_schedule_cases("orca-"); }
TEST_CASE("vLLM V0: every schedule case") { check_schedule_cases("vllm_v0-"); }

TEST_CASE("FasterTransformer's batch ends together, its re-implementation frees early") {
  EngineScenario together(batches_of("static", 2));
  together.add(10, 2).add(20, 5).add(10, 1).run();
  CHECK(together.batch(1) == "0:prefill 10, 1:prefill 20");
  CHECK(together.free_after(2) == 32);  // request 0 has ended, its row's memory stays
  CHECK(together.free_after(5) == 40);
  CHECK(together.batch(6) == "2:prefill 10");

  EngineScenario early(batches_of("static_early_free", 2));
  early.add(10, 2).add(20, 5).add(10, 1).run();
  CHECK(early.free_after(2) == 36);
  CHECK(early.batch(6) == "2:prefill 10");
}

TEST_CASE("A padded batch computes for nothing") {
  const auto scheduler = make_static(batches_of("static", 2), "");
  Request first = request(0, 10, 2);
  Request second = request(1, 20, 5);
  Nobody nobody;
  StepPlan plan;
  scheduler->add(first, at(0));
  scheduler->add(second, at(0));
  REQUIRE(scheduler->plan(at(0), plan, nobody));
  CHECK(plan.batch.padding == Tokens{10});  // 10 tokens padded to 20
  CHECK(plan.batch.tokens() == Tokens{40});
  scheduler->complete(at(1), nobody);
  plan.clear();
  REQUIRE(scheduler->plan(at(1), plan, nobody));
  CHECK(plan.batch.decode_context == Tokens{2 * 21});  // both see the padded prompt and one token
  scheduler->complete(at(2), nobody);
  plan.clear();
  REQUIRE(scheduler->plan(at(2), plan, nobody));
  CHECK(plan.batch.decode_sequences == 1);  // the first row has ended, and is still computed
  CHECK(plan.batch.padding == Tokens{1});
  CHECK(plan.batch.tokens() == Tokens{2});
  CHECK(plan.batch.decode_context == Tokens{22});
}

TEST_CASE("Dynamic batching waits for a full batch, up to the maximum delay") {
  EngineConfig engine = batches_of("dynamic_batching", 2);
  engine.max_queue_delay = Duration::milliseconds(5);
  const auto scheduler = make_dynamic_batching(engine, "");
  Request first = request(0, 10, 1);
  Request second = request(1, 10, 1);
  Request third = request(2, 10, 1);
  Nobody nobody;
  StepPlan plan;

  scheduler->add(first, at(1));
  CHECK_FALSE(scheduler->plan(at(1), plan, nobody));
  CHECK(scheduler->next_wake() == at(6));
  CHECK(scheduler->plan(at(6), plan, nobody));  // alone, after the delay
  CHECK(scheduler->load().running == 1);
  scheduler->complete(at(7), nobody);

  scheduler->add(second, at(7));
  plan.clear();
  CHECK_FALSE(scheduler->plan(at(7), plan, nobody));
  scheduler->add(third, at(8));
  plan.clear();
  CHECK(scheduler->plan(at(8), plan, nobody));  // full: at once
  CHECK(scheduler->load().running == 2);
  CHECK(scheduler->next_wake() == Time::max());
}

TEST_CASE("Orca mixes whole prompts with decodes") {
  EngineScenario scenario(batches_of("orca", 2));
  scenario.add(10, 3).add(20, 3, 0, 2).add(5, 1, 0, 2).run();
  CHECK(scenario.batch(2) == "0:decode 1, 1:prefill 20");
  CHECK(scenario.free_after(2) == 32);  // 4 blocks each, whatever they use
  CHECK(scenario.batch(4) == "1:decode 1, 2:prefill 5");
}

TEST_CASE("vLLM V0: prompts stall decodes") {
  EngineConfig engine = batches_of("vllm_v0", 8);
  EngineScenario scenario(engine);
  scenario.add(10, 3).add(20, 2, 0, 2).run();
  CHECK(scenario.batch(2) == "1:prefill 20");
  CHECK(scenario.batch(3) == "0:decode 1, 1:decode 1");
}

TEST_CASE("Engines refuse flags they do not have") {
  EngineConfig engine = batches_of("orca", 2);
  engine.speculation = SpeculationConfig{};
  engine.scheduling_policy = "priority";
  EngineScenario scenario(engine);
  try {
    scenario.add(1, 1).run();
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.diagnostics().size() == 2);
  }
}
