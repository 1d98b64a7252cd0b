#include "sim/scheduling/sglang.hpp"

#include "sim/scheduling/sglang_admission.hpp"
#include "sim/scheduling/sglang_queue.hpp"
#include "sim/scheduling/sglang_retraction.hpp"
#include "tests/unit/sim/engine_scenario.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

SglangSequence sequence(std::int64_t row, std::int64_t input, std::int64_t max_tokens, std::int64_t outputs = 0) {
  SglangSequence sequence;
  sequence.row = sequence.order = row;
  sequence.input = input;
  sequence.output = sequence.max_tokens = max_tokens;
  sequence.outputs = outputs;
  RequestSpec spec;
  spec.row = row;
  spec.input = Tokens{input};
  spec.output = Tokens{max_tokens};
  sequence.content = whole_content(spec);
  return sequence;
}

EngineConfig sglang(std::int64_t page, std::int64_t pages) {
  EngineConfig engine;
  engine.scheduler = "sglang";
  engine.block_size = page;
  engine.num_gpu_blocks = pages;
  return engine;
}

/// Counts what the prefix cache gave.
class CacheHits : public SchedulerListener {
 public:
  std::int64_t cached = 0;
  void admitted(Request&, Tokens hit) override { cached += hit.count(); }
  void preempted(Request&) override {}
  void first_token(Request&) override {}
  void chunks(std::int64_t, std::int64_t, Time) override {}
  void finished(Request&) override {}
};

}  // namespace

TEST_CASE("SGLang: every schedule case") { check_schedule_cases("sglang-"); }

TEST_CASE("SGLang: admission charges new requests in full and running ones by the ratio") {
  // Pool 10000, 3298 in use; running (200 of 1000) and (100 of 500) at ratio 0.7: 10000 - 3298 - 0.7 * 1200 = 5862 left.
  SglangMemory memory(1, 10000, true);
  memory.take(3298);
  SglangAdmission admission(memory, 16384, 8192, 0, 800 * 0.7 + 400 * 0.7);
  CHECK(admission.left() == Approx(5862));
  SglangSequence first = sequence(0, 3000, 1000);
  SglangSequence second = sequence(1, 1000, 600);
  SglangSequence third = sequence(2, 200, 600);
  for (SglangSequence* waiting : {&first, &second, &third}) memory.find_prefix(*waiting);
  CHECK(admission.add(first) == SglangAdmission::Verdict::next);
  CHECK(admission.left() == Approx(1861));  // 5862 - (3000 + 1000 + a page)
  CHECK(admission.add(second) == SglangAdmission::Verdict::next);
  CHECK(admission.left() == Approx(260));
  CHECK(admission.add(third) == SglangAdmission::Verdict::no_token);
}

TEST_CASE("SGLang: retraction takes the fewest outputs, then the longest prompt") {
  // Page 1; (in, out) of A to D as below, max_new 200; the tree holds the four prompts, 2 tokens are free. The step needs 4.
  SglangMemory memory(1, 423, true);
  DecodeSet decodes(1, 0);
  SglangSequence a = sequence(0, 100, 200, 10);
  SglangSequence b = sequence(1, 50, 200, 10);
  SglangSequence c = sequence(2, 20, 200, 5);
  SglangSequence d = sequence(3, 200, 200, 30);
  SglangBatch batch{&a, &b, &c, &d};
  for (SglangSequence* running : batch) {
    memory.find_prefix(*running);
    memory.lock_prefix(*running);
    memory.take(running->input + running->outputs - 1);  // all but the newest token
    memory.store_unfinished(*running, running->input);
    decodes.join(*running);
  }
  CHECK(memory.free_tokens() == 2);
  CHECK_FALSE(next_decode_fits(decodes, memory));

  const SglangBatch victims = retract_for_decode(batch, decodes, memory);
  CHECK(victims == SglangBatch{&c});
  // C's 4 own tokens, and its 20-token prompt, evicted since 20 tokens for each of the 3 that stay are not free.
  CHECK(memory.free_tokens() == 26);
  CHECK(batch == SglangBatch{&d, &b, &a});  // of A and B, A with the longer prompt would be next
  for (SglangSequence* kept : batch) decodes.leave(*kept);
  NewTokenRatio ratio(1.0);
  ratio.after_retraction(batch);
  CHECK(ratio.value() == Approx(110.0 / 601.0));  // (50 outputs + 3 * 20) / (3 * 200 + 1)
}

TEST_CASE("SGLang: only what is left of the chunk counts against the next prompt") {
  // ai-dynamo/aisimulate#285: budget 8, page 4, prompts of 4 and 8: the second is cut, not rejected.
  EngineConfig engine = sglang(4, 100);
  engine.chunked_prefill_size = 8;
  EngineScenario scenario(engine);
  scenario.add(4, 1).add(8, 1).run();
  CHECK(scenario.batch(1) == "0:prefill 4, 1:prefill 4");
  CHECK(scenario.batch(2) == "1:prefill 4");
  CHECK(scenario.last_step_of(1) == 2);
}

TEST_CASE("SGLang: a full batch admits one step late") {
  EngineConfig engine = sglang(1, 1000);
  engine.max_num_seqs = 2;
  EngineScenario scenario(engine);
  scenario.add(10, 2).add(10, 4).add(10, 1).run();
  CHECK(scenario.batch(2) == "0:decode 1, 1:decode 1");  // request 0 ends, and stays listed until the next decode is formed
  CHECK(scenario.batch(3) == "1:decode 1");
  CHECK(scenario.batch(4) == "2:prefill 10");
}

TEST_CASE("SGLang: tokens are shared one by one, where pages are single tokens") {
  // vllm-project/vllm#54607: 1000 prompts of 240 shared and 300 unique tokens; every later one hits 240: 44.4 %.
  const auto hit_rate = [](std::int64_t page) {
    const auto scheduler = make_sglang(sglang(page, 2'000'000 / page), "");
    const auto shared = std::make_shared<Content>(Content{{.stream = 7, .offset = Tokens{0}, .length = Tokens{240}}});
    CacheHits hits;
    StepPlan plan;
    constexpr std::int64_t requests = 1000;
    for (std::int64_t row = 0; row < requests; ++row) {
      Request request;
      request.spec.row = row;
      request.spec.input = Tokens{540};
      request.spec.output = request.spec.max_tokens = Tokens{1};
      request.spec.content = shared;
      scheduler->add(request, Time{});
      plan.clear();
      REQUIRE(scheduler->plan(Time{}, plan, hits));
      scheduler->complete(Time{}, hits);
      plan.clear();
      REQUIRE_FALSE(scheduler->plan(Time{}, plan, hits));
    }
    return static_cast<double>(hits.cached) / static_cast<double>(requests * 540);
  };
  CHECK(hit_rate(1) == Approx(999.0 * 240 / (1000.0 * 540)));
  CHECK(hit_rate(16) == Approx(999.0 * 240 / (1000.0 * 540)));  // 240 is a multiple of 16
  CHECK(hit_rate(784) == 0.0);                                  // shorter than a page
}

TEST_CASE("SGLang: order of the queue") {
  RadixTree tree(1);
  SglangSequence shallow = sequence(0, 100, 10);
  SglangSequence deep = sequence(1, 100, 30);
  SglangSequence none = sequence(2, 100, 20);
  tree.insert(shallow.content, 40);
  tree.insert(deep.content, 60);
  SglangBatch queue{&none, &shallow, &deep};
  const RandomStream random(0, "", "");

  SglangQueuePolicy("lpm", true, random).sort(queue, tree);
  CHECK(queue == SglangBatch{&deep, &shallow, &none});
  SglangQueuePolicy("lof", true, random).sort(queue, tree);
  CHECK(queue == SglangBatch{&deep, &none, &shallow});
  SglangQueuePolicy("lpm", false, random).sort(queue, tree);  // without a cache: fcfs
  CHECK(queue == SglangBatch{&deep, &none, &shallow});

  // Two requests below one node weigh more than one; those without a match come last.
  SglangSequence twin = sequence(0, 120, 10);
  queue = {&none, &deep, &shallow, &twin};
  SglangQueuePolicy("dfs-weight", true, random).sort(queue, tree);
  CHECK(queue == SglangBatch{&shallow, &twin, &deep, &none});

  CHECK_THROWS_AS(SglangQueuePolicy("longest", true, random), ConfigError);
}

TEST_CASE("SGLang: requests that share an uncached prefix wait for the first of them") {
  RadixTree tree(1);
  SglangSequence first = sequence(0, 100, 10);
  SglangSequence second = sequence(0, 100, 10);  // the same content
  SglangSequence other = sequence(1, 100, 10);
  SglangBatch queue{&first, &second, &other};
  SglangQueuePolicy("lpm", true, RandomStream(0, "", "")).sort(queue, tree);
  CHECK(queue == SglangBatch{&first, &other, &second});
}
