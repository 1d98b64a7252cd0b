// Routers that score replicas: the formulas on numbers, then the bookkeeping around them.
#include "sim/routing/scores.hpp"

#include "sim/routing/builtin.hpp"
#include "sim/routing/polled_loads.hpp"
#include "sim/routing/prefix_index.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

/// A prompt of `shared` tokens of a common text, then unique ones.
Request request_of(std::int64_t row, std::int64_t shared, std::int64_t unique, std::uint64_t session = 0) {
  Request request;
  request.spec.row = row;
  request.spec.input = Tokens{shared + unique};
  request.spec.output = Tokens{10};
  request.spec.session = session;
  if (shared > 0) request.spec.content = std::make_shared<Content>(Content{{hash64("text"), Tokens{0}, Tokens{shared}}});
  return request;
}

Time at_ms(std::int64_t ms) { return Time{Duration::milliseconds(ms)}; }

}  // namespace

TEST_CASE("llm-d's scores (oracle S12)") {
  // queue = (4 - q)/4, weights 2, 2, 3: 2 + 0.2 + 2.4; 1 + 1 + 0.6; 0 + 1.8 + 0.
  const auto scores = llm_d_scores({{0, 0.9, 8, 10}, {2, 0.5, 2, 10}, {4, 0.1, 0, 10}}, RouterConfig{});
  CHECK(scores[0] == Approx(4.6));
  CHECK(scores[1] == Approx(2.6));
  CHECK(scores[2] == Approx(1.8));
  // Equal queues all score 1.
  CHECK(llm_d_scores({{7, 1.0, 0, 0}, {7, 1.0, 0, 0}}, RouterConfig{})[1] == Approx(2.0));
}

TEST_CASE("SGLang's gateway: when loads are imbalanced (oracle S12)") {
  CHECK(is_imbalanced(5, 40, RouterConfig{}));          // 35 > 32, 40 > 5.5
  CHECK_FALSE(is_imbalanced(5, 36, RouterConfig{}));    // 31
  CHECK_FALSE(is_imbalanced(920, 1000, RouterConfig{}));  // 80 > 32, but 1000 < 1012

  const auto router = make_sglang_cache_aware({3, 1, {}});
  const std::int64_t loads[] = {40, 5, 10};
  for (std::uint32_t i = 0; i < 3; ++i) router->changed(ReplicaId{i}, loads[i], {}, Time{});
  CHECK(router->choose(request_of(0, 0, 100), Time{}).value() == 1);
}

TEST_CASE("SGLang's gateway follows a prefix that covers more than half of the prompt") {
  const auto router = make_sglang_cache_aware({3, 1, {}});
  const auto load = [&](std::uint32_t replica, std::int64_t outstanding) { router->changed(ReplicaId{replica}, outstanding, {}, Time{}); };
  load(0, 2), load(1, 1), load(2, 2);
  CHECK(router->choose(request_of(0, 60, 40), Time{}).value() == 1);
  load(1, 9);
  CHECK(router->choose(request_of(1, 60, 40), Time{}).value() == 1);  // 60 of 100 match
  CHECK(router->choose(request_of(2, 60, 60), Time{}).value() == 0);  // 60 of 120 are not more than half: the least loaded
}

TEST_CASE("llm-d: metrics are as old as the last poll, the prefix index is not") {
  const auto router = make_llm_d({2, 1, {}});
  const SchedulerLoad busy{.running = 9, .waiting = 5, .total_blocks = 100, .free_blocks = 0};
  const SchedulerLoad idle{.running = 0, .waiting = 0, .total_blocks = 100, .free_blocks = 100};
  router->changed(ReplicaId{0}, 0, idle, at_ms(1));
  router->changed(ReplicaId{1}, 9, busy, at_ms(2));
  CHECK(router->choose(request_of(0, 0, 64), at_ms(60)).value() == 0);
  router->changed(ReplicaId{0}, 9, busy, at_ms(61));
  router->changed(ReplicaId{1}, 0, idle, at_ms(62));
  CHECK(router->choose(request_of(1, 0, 64), at_ms(99)).value() == 0);   // still the poll at 50 ms
  CHECK(router->choose(request_of(2, 0, 64), at_ms(100)).value() == 1);  // the poll at 100 ms

  // Idle both: 2 + 2 each. A text of 4 blocks that replica 1 was sent adds 3 x 4/5 for five blocks.
  router->changed(ReplicaId{0}, 0, idle, at_ms(110));
  const std::uint32_t first = router->choose(request_of(3, 64, 0), at_ms(160)).value();
  for (int i = 0; i < 20; ++i) CHECK(router->choose(request_of(4 + i, 64, 16), at_ms(160)).value() == first);
}

TEST_CASE("Polls see what was there at the poll") {
  PolledLoads loads(1, Duration::milliseconds(50));
  loads.changed(0, {.waiting = 1}, at_ms(10));
  CHECK(loads.at(0, at_ms(49)).waiting == 0);
  loads.changed(0, {.waiting = 2}, at_ms(70));
  CHECK(loads.at(0, at_ms(99)).waiting == 1);
  CHECK(loads.at(0, at_ms(400)).waiting == 2);
}

TEST_CASE("The prefix index forgets what is least recent, and matches from the start only") {
  PrefixIndex index(2, 3);
  index.add(0, {1, 2, 3}, Time{});
  index.add(1, {1, 2}, Time{});
  CHECK(index.match({1, 2, 3, 4}, Time{}) == std::vector<std::int64_t>{3, 2});
  index.add(0, {4}, Time{});  // block 1 goes: 2 and 3 are no prefix any more
  CHECK(index.match({1, 2, 3}, Time{}) == std::vector<std::int64_t>{0, 2});
  CHECK(index.size(0) == 3);

  PrefixIndex aging(1, 100, Duration::seconds(120));
  aging.add(0, {1}, at_ms(0));
  CHECK(aging.match({1}, at_ms(120'000))[0] == 1);
  CHECK(aging.match({1}, at_ms(120'001))[0] == 0);
}

TEST_CASE("Production-stack: a session stays on its replica, others go to the lowest rate") {
  const auto router = make_production_stack_session({4, 1, {}});
  std::vector<std::int64_t> sessions_on(4);
  for (std::uint64_t session = 1; session <= 400; ++session) {
    const std::uint32_t home = router->choose(request_of(0, 0, 8, session), Time{}).value();
    CHECK(router->choose(request_of(1, 0, 8, session), at_ms(5)).value() == home);
    ++sessions_on[home];
  }
  for (const std::int64_t sessions : sessions_on) CHECK(sessions > 50);  // a hundred each, unevenly
  // Without sessions everyone ends with the same count in the last minute.
  const auto even = make_production_stack_session({3, 1, {}});
  std::vector<int> counts(3);
  for (int i = 0; i < 30; ++i) ++counts[even->choose(request_of(i, 0, 8), at_ms(i)).value()];
  CHECK(counts == std::vector<int>{10, 10, 10});
}

TEST_CASE("Production-stack: the deepest match, whatever the load") {
  const auto router = make_production_stack_prefix({8, 1, {}});
  const std::uint32_t first = router->choose(request_of(0, 64, 0), Time{}).value();
  for (int i = 1; i < 30; ++i) CHECK(router->choose(request_of(i, 64, 40), Time{}).value() == first);
}

TEST_CASE("Dynamo's cost: tokens to prefill in blocks, plus blocks to decode with") {
  RouterConfig config;
  CHECK(dynamo_cost({160, 7}, config) == Approx(17.0));
  config.kv_overlap_score_weight = 2.0;
  CHECK(dynamo_cost({160, 7}, config) == Approx(27.0));
}

TEST_CASE("Dynamo: prefills end with the first token, decodes with the last") {
  const auto router = make_dynamo_kv({2, 1, {}});
  // Idle, equal: the lower. Then replica 0 has 160/16 + 10 = 20 against it.
  const Request a = request_of(0, 160, 0), b = request_of(1, 0, 160);
  CHECK(router->choose(a, Time{}).value() == 0);
  CHECK(router->choose(b, Time{}).value() == 1);
  // The text of `a` again: on 0 nothing to prefill but a's own 160 tokens and its 10 blocks shared: 10 + 10; on 1
  // (160 + 160)/16 + 10 + 10 = 40.
  const Request again = request_of(2, 160, 0);
  CHECK(router->choose(again, Time{}).value() == 0);
  router->first_token(b);
  router->finished(b);
  // Replica 1 is idle again: a new prompt of 32 tokens costs (160 + 32)/16 + 10 + 2 on 0, 2 + 2 on 1.
  CHECK(router->choose(request_of(3, 0, 32), Time{}).value() == 1);
}

TEST_CASE("Dynamo: a temperature spreads requests") {
  RouterConfig config;
  config.router_temperature = 1.0;
  const auto router = make_dynamo_kv({2, 1, config});
  std::vector<int> counts(2);
  for (int i = 0; i < 200; ++i) {
    const Request request = request_of(i, 0, 64);
    ++counts[router->choose(request, Time{}).value()];
    router->finished(request);
  }
  CHECK(counts[0] > 60);
  CHECK(counts[1] > 60);
}
