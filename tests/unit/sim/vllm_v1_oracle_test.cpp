// Scenarios with known answers, traced by hand and checked against vLLM's own scheduler code (main, August 2026).
#include <sstream>

#include "sim/scheduling/vllm_v1.hpp"
#include "sim/serving/kv_paged_cache.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schedule_case.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

EngineConfig engine(std::int64_t block_size, std::int64_t usable_blocks) {
  EngineConfig config;
  config.scheduler = "vllm_v1";
  config.block_size = block_size;
  config.num_gpu_blocks = usable_blocks + 1;  // with the null block
  config.max_model_len = 4096;
  config.async_scheduling = false;
  config.enable_prefix_caching = false;
  return config;
}

/// One step at a time, so that each can be looked at.
class Bench : private SchedulerListener {
 public:
  explicit Bench(const EngineConfig& config) : scheduler_(config, "bench") { scheduler_.keep_rows(true); }

  void add(std::int64_t prompt, std::int64_t output, std::shared_ptr<const std::vector<int>> accepted = nullptr) {
    Request& request = requests_.emplace_back();
    request.spec.row = static_cast<std::int64_t>(requests_.size()) - 1;
    request.spec.input = Tokens{prompt};
    request.spec.output = request.spec.max_tokens = Tokens{output};
    request.spec.accepted = std::move(accepted);
    scheduler_.add(request, now_);
  }

  /// Rows as "A63 B1" (a preempted one as "C!"), then the free blocks: "A63 B1 | 3".
  std::string step() {
    StepPlan plan;
    if (!scheduler_.plan(now_, plan, *this)) return "nothing";
    now_ += Duration::milliseconds(1);
    scheduler_.complete(now_, *this);
    std::ostringstream text;
    for (const StepRow& row : scheduler_.rows()) {
      text << static_cast<char>('A' + row.request);
      if (row.kind == StepRow::Kind::preempted) text << "! ";
      else text << row.scheduled.count() << ' ';
    }
    text << "| " << scheduler_.load().free_blocks;
    return text.str();
  }
  std::string steps(int count) {
    std::string last;
    for (int i = 0; i < count; ++i) last = step();
    return last;
  }

  [[nodiscard]] const StepRow& row(std::size_t index) const { return scheduler_.rows().at(index); }
  [[nodiscard]] SchedulerLoad load() const { return scheduler_.load(); }

 private:
  void admitted(Request&, Tokens) override {}
  void preempted(Request&) override {}
  void first_token(Request&) override {}
  void chunks(std::int64_t, std::int64_t, Time) override {}
  void finished(Request&) override {}

  VllmV1Scheduler scheduler_;
  std::deque<Request> requests_;
  Time now_;
};

std::string ids(const std::vector<BlockId>& blocks) {
  std::string text;
  for (const BlockId id : blocks) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

}  // namespace

TEST_CASE("S1: FCFS cascade of preemptions") {
  // 11 blocks of 16; A 64, B 48, C 16 prompt tokens, 40 outputs each: 4 + 3 + 1 = 8 blocks at once, 3 free.
  Bench bench(engine(16, 11));
  bench.add(64, 40);
  bench.add(48, 40);
  bench.add(16, 40);
  CHECK(bench.step() == "A64 B48 C16 | 3");
  // All prompts end at a block boundary, so every second token needs a block: 0 free until the next boundary.
  CHECK(bench.step() == "A1 B1 C1 | 0");
  CHECK(bench.steps(15) == "A1 B1 C1 | 0");
  CHECK(bench.row(2).output == Tokens{17});
  CHECK(bench.step() == "A1 B1 C! | 0");  // step 18: A and B take C's two blocks
  CHECK(bench.steps(15) == "A1 B1 | 0");
  CHECK(bench.row(1).output == Tokens{33});
  CHECK(bench.step() == "A1 B! | 4");  // step 34: A takes one of B's five; C's three would fit, but B is before it
  CHECK(bench.load().waiting == 2);
  CHECK(bench.steps(6) == "A1 | 11");  // step 40: A has its 40 tokens
  CHECK(bench.step() == "B81 C33 | 2");
}

TEST_CASE("S2: the token budget, in running order") {
  EngineConfig config = engine(16, 199);
  config.max_num_batched_tokens = 64;
  config.max_num_seqs = 3;
  Bench bench(config);
  bench.add(10, 6);
  bench.steps(2);
  bench.add(150, 3);
  bench.add(20, 2);
  bench.add(5, 2);
  CHECK(bench.step() == "A1 B63 | 194");  // 1 + 4 blocks
  CHECK(bench.step() == "A1 B63 | 190");
  CHECK(bench.step() == "A1 B24 C20 | 186");  // 1 + 10 + 2; D waits: three requests run
  CHECK(bench.step() == "A1 B1 C1 | 189");    // A and C end
  CHECK(bench.step() == "B1 D5 | 198");
  CHECK(bench.step() == "D1 | 199");
}

TEST_CASE("S3: which blocks are hit, taken and overwritten") {
  EngineConfig config = engine(4, 8);
  config.enable_prefix_caching = true;
  PagedKvCache cache(config, 1);
  // X is stream 1. A: 12 tokens of X and 2 others; B: X alone; C: 8 of X and 10 others.
  const auto spec = [](std::int64_t row, std::int64_t shared, std::int64_t prompt) {
    RequestSpec request;
    request.row = row;
    request.input = Tokens{prompt};
    request.content = std::make_shared<Content>(Content{{1, Tokens{0}, Tokens{shared}}});
    return request;
  };
  const RequestSpec a = spec(0, 12, 14);
  const RequestSpec b = spec(1, 12, 12);
  const RequestSpec c = spec(2, 8, 18);

  KvSequence sequence;
  cache.start(sequence, a);
  CHECK(cache.find_prefix(sequence, 14) == 0);
  REQUIRE(cache.allocate(sequence, {.new_tokens = 14, .known = 14}));
  CHECK(ids(sequence.tables[0]) == "1,2,3,4");
  REQUIRE(cache.allocate(sequence, {.computed = 14, .new_tokens = 1, .known = 15}));
  cache.release(sequence, false);
  CHECK(ids(cache.pool().free_queue()) == "4,5,6,7,8,3,2,1");

  cache.start(sequence, b);
  CHECK(cache.find_prefix(sequence, 12) == 8);  // never the last token: its block is computed again
  REQUIRE(cache.allocate(sequence, {.computed = 8, .new_tokens = 4, .known = 12}));
  CHECK(ids(sequence.tables[0]) == "1,2,4");
  cache.release(sequence, false);
  CHECK(ids(cache.pool().free_queue()) == "5,6,7,8,3,4,2,1");

  cache.start(sequence, c);
  CHECK(cache.find_prefix(sequence, 18) == 8);
  REQUIRE(cache.allocate(sequence, {.computed = 8, .new_tokens = 10, .known = 18}));
  CHECK(ids(sequence.tables[0]) == "1,2,5,6,7");
  CHECK(ids(cache.pool().free_queue()) == "8,3,4");
  REQUIRE(cache.allocate(sequence, {.computed = 18, .new_tokens = 1, .known = 19}));
  REQUIRE(cache.allocate(sequence, {.computed = 19, .new_tokens = 1, .known = 20}));
  cache.release(sequence, false);
  // Prompt 18 and two outputs computed fill five blocks: all are hashed, hence at the tail, the deepest first.
  CHECK(ids(cache.pool().free_queue()) == "8,3,4,7,6,5,2,1");
}

TEST_CASE("S4: EAGLE with three drafts") {
  EngineConfig config = engine(16, 19);
  config.speculation =
      SpeculationConfig{.method = "eagle", .num_speculative_tokens = 3, .acceptance = {}, .accepted = {}};
  Bench bench(config);
  bench.add(40, 12, std::make_shared<std::vector<int>>(std::vector<int>{3, 0, 1, 3}));
  const auto state = [&] { return std::pair(bench.row(0).output.count(), bench.row(0).computed.count()); };
  CHECK(bench.step() == "A40 | 16");  // 40 + 3 lookahead slots: 3 blocks
  CHECK(state() == std::pair<std::int64_t, std::int64_t>(1, 40));
  CHECK(bench.step() == "A4 | 16");  // 44 + 3 slots
  CHECK(state() == std::pair<std::int64_t, std::int64_t>(5, 44));
  CHECK(bench.step() == "A4 | 15");  // 48 + 3: a fourth block, kept although three drafts are rejected
  CHECK(state() == std::pair<std::int64_t, std::int64_t>(6, 45));
  CHECK(bench.step() == "A4 | 15");
  CHECK(state() == std::pair<std::int64_t, std::int64_t>(8, 47));
  CHECK(bench.step() == "A4 | 19");  // the fourth token is the twelfth
  CHECK(bench.row(0).output == Tokens{12});
}

TEST_CASE("S13: a full and a sliding-window group share the pool") {
  EngineConfig config = engine(16, 59);
  config.kv_groups = {0, 32};
  config.max_num_batched_tokens = 64;
  Bench bench(config);
  bench.add(150, 100);
  CHECK(bench.step() == "A64 | 51");    // (full, window) = (4, 4)
  CHECK(bench.step() == "A64 | 45");    // (8, 6): 64 computed, (64 - 31) / 16 = 2 blocks left the window
  CHECK(bench.step() == "A22 | 45");    // (10, 4)
  CHECK(bench.step() == "A1 | 46");     // (10, 3)
  CHECK(bench.steps(25) == "A1 | 46");  // step 29: (11, 2), 175 computed: the ninth block has just left the window
  CHECK(bench.step() == "A1 | 44");     // step 30: (12, 3), 176 computed
  // The admission gate counts cd(32 - 1 + 64, 16) + 1 = 7 blocks for the window group, 10 + 7 for a 150-token prompt.
  CHECK(PagedKvCache(config, 1).most_blocks(150) == 17);
}

TEST_CASE("a request that can never be served is refused with the numbers") {
  EngineConfig config = engine(16, 4);
  config.max_model_len = 100;
  Bench bench(config);
  CHECK_THROWS_WITH(bench.add(90, 11), Catch::Contains("90 prompt + 11 output tokens exceed max_model_len 100"));
  CHECK_THROWS_WITH(bench.add(60, 6), Catch::Contains("need 5 KV blocks of 16 tokens, the pool has 4"));
  bench.add(60, 5);  // 64 tokens are ever computed
  CHECK(bench.steps(5) == "C1 | 4");
}
