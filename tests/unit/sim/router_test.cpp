#include "sim/routing/builtin.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "sim/routing/min_tree.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

std::uint32_t pick(Router& router) { return router.choose(Request{}, Time{}).value(); }

}  // namespace

TEST_CASE("the tournament tree answers the least key, ties to the lowest slot") {
  for (const std::size_t slots : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{64}, std::size_t{100}}) {
    MinTree tree(slots);
    std::vector<std::int64_t> keys(slots, 0);
    std::uint64_t state = 1;
    for (int change = 0; change < 500; ++change) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const std::size_t slot = (state >> 33) % slots;
      keys[slot] = static_cast<std::int64_t>((state >> 20) % 7);
      tree.update(slot, keys[slot]);
      const auto expected = static_cast<std::size_t>(std::min_element(keys.begin(), keys.end()) - keys.begin());
      REQUIRE(tree.least() == expected);
    }
  }
}

TEST_CASE("round-robin takes each replica in turn") {
  const auto router = make_round_robin({3, 0, {}});
  std::vector<std::uint32_t> picks;
  for (int i = 0; i < 7; ++i) picks.push_back(pick(*router));
  CHECK(picks == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0});
}

TEST_CASE("least-outstanding and least-kv follow the loads") {
  const auto outstanding = make_least_outstanding({3, 0, {}});
  outstanding->changed(ReplicaId{0}, 4, {}, Time{});
  outstanding->changed(ReplicaId{1}, 2, {}, Time{});
  outstanding->changed(ReplicaId{2}, 3, {}, Time{});
  CHECK(pick(*outstanding) == 1);

  const auto kv = make_least_kv({3, 0, {}});
  kv->changed(ReplicaId{0}, 1, {.total_blocks = 100, .free_blocks = 40}, Time{});   // 60 % used
  kv->changed(ReplicaId{1}, 9, {.total_blocks = 1000, .free_blocks = 900}, Time{});  // 10 %
  kv->changed(ReplicaId{2}, 1, {.total_blocks = 10, .free_blocks = 8}, Time{});      // 20 %
  CHECK(pick(*kv) == 1);
}

TEST_CASE("power-of-two never picks the busiest of three") {
  const auto router = make_power_of_two({3, 7, {}});
  router->changed(ReplicaId{0}, 1, {}, Time{});
  router->changed(ReplicaId{1}, 100, {}, Time{});
  router->changed(ReplicaId{2}, 2, {}, Time{});
  std::set<std::uint32_t> picked;
  for (int i = 0; i < 200; ++i) picked.insert(pick(*router));
  CHECK(picked == std::set<std::uint32_t>{0, 2});
}

TEST_CASE("random covers all replicas and repeats with its seed") {
  const auto a = make_random({4, 1, {}});
  const auto b = make_random({4, 1, {}});
  std::set<std::uint32_t> picked;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t first = pick(*a);
    CHECK(first == pick(*b));
    picked.insert(first);
  }
  CHECK(picked.size() == 4);
}

TEST_CASE("an unknown router is refused with the names that exist") {
  CHECK_THROWS_WITH(find_row(routers(), "round_robin", "router"), Catch::Contains("did you mean `round-robin`"));
}
