// The planner's searches against brute force, with judges that cost nothing.
#include <algorithm>
#include <cmath>

#include "scenarios/plan/fleet_search.hpp"
#include "scenarios/plan/knee.hpp"
#include "scenarios/plan/spares.hpp"
#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

TEST_CASE("The knee is found from either side, within the tolerance") {
  for (const double threshold : {0.02, 1.0, 37.5, 4000.0}) {
    for (const double start : {0.1, 10.0, 1000.0}) {
      const Knee knee = find_knee([&](double load) { return load <= threshold; }, {.start = start, .tolerance = 0.01});
      INFO(threshold << " from " << start);
      REQUIRE(knee.passes.has_value());
      REQUIRE(knee.fails.has_value());
      CHECK(*knee.passes <= threshold);
      CHECK(*knee.fails > threshold);
      CHECK(*knee.fails <= *knee.passes * 1.01);
      // Doubling spans log2(4e4) = 16 tries at most, halving a factor 2 to 1 % takes log2(ln 2 / ln 1.01) = 6.1.
      CHECK(knee.tried.size() <= 24);
    }
  }
}

TEST_CASE("The knee of whole numbers is exact; absent ends are absent") {
  const Knee knee = find_knee([](double load) { return load <= 41; }, {.start = 7, .least = 1, .most = 1000, .tolerance = 0.01, .whole = true});
  CHECK(knee.passes == 41.0);
  CHECK(knee.fails == 42.0);
  CHECK_FALSE(find_knee([](double) { return false; }, {.start = 7, .least = 1, .most = 100, .whole = true}).passes.has_value());
  const Knee all = find_knee([](double) { return true; }, {.start = 7, .least = 1, .most = 100, .whole = true});
  CHECK(all.passes == 100.0);
  CHECK_FALSE(all.fails.has_value());
}

TEST_CASE("Spare replicas by the binomial") {
  // 4 of 4 up: 0.99^4 = 0.960596. 4 of 5: 0.99^5 + 5 * 0.99^4 * 0.01 = 0.9509900 + 0.0480298 = 0.9990198.
  CHECK(probability_up(4, 4, 0.99) == Approx(0.96059601).epsilon(1e-9));
  CHECK(probability_up(4, 5, 0.99) == Approx(0.9990198).epsilon(1e-6));
  CHECK(spare_replicas(4, {.replica = 0.99, .fleet = 0.96}) == 0);
  CHECK(spare_replicas(4, {.replica = 0.99, .fleet = 0.999}) == 1);
  CHECK(spare_replicas(4, {.replica = 0.99, .fleet = 0.9999}) == 2);  // 1 - C(6,3) * 0.01^3 and smaller terms = 0.99998
  CHECK(spare_replicas(4, {.replica = 1.0, .fleet = 1.0}) == 0);
}

namespace {

// A world whose truth is known: a fleet passes when its real capacities sum to the load; bounds are up to twice as hopeful.
struct World {
  std::vector<ReplicaOption> options;
  std::vector<double> real;
  double load = 0.0;

  [[nodiscard]] bool passes(const Fleet& fleet) const {
    double sum = 0.0;
    for (const auto& [option, count] : fleet) sum += real[option] * count;
    return sum >= load;
  }
};

World random_world(std::uint64_t seed, std::size_t options, int replicas) {
  RandomStream random(seed, "test", "world");
  World world;
  world.load = 10.0 + 40.0 * random.uniform();
  for (std::size_t i = 0; i < options; ++i) {
    const double capacity = 1.0 + 9.0 * random.uniform();
    const double price = capacity * (0.5 + random.uniform());
    world.real.push_back(capacity);
    ReplicaOption option{.capacity = capacity * (1.0 + random.uniform()), .kind = "gpu-" + std::to_string(i)};
    for (int n = 0; n <= replicas; ++n) option.price.push_back(price * n);
    world.options.push_back(option);
  }
  return world;
}

double cheapest_by_force(const World& world, bool mixed) {
  double best = 1e300;
  const auto consider = [&](const Fleet& fleet) {
    if (world.passes(fleet)) best = std::min(best, price_of(world.options, fleet));
  };
  for (std::size_t a = 0; a < world.options.size(); ++a) {
    for (int n = 1; n <= world.options[a].most(); ++n) {
      consider({{a, n}});
      if (!mixed) continue;
      for (std::size_t b = a + 1; b < world.options.size(); ++b) {
        for (int m = 1; m <= world.options[b].most(); ++m) consider({{a, n}, {b, m}});
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("The cheapest fleet is that of exhaustive search, with a fraction of its judgements") {
  std::int64_t judged = 0, points = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const World world = random_world(seed, 6, 16);
    const auto found = cheapest_fleets(world.options, {.load = world.load}, [&](const Fleet& fleet) { return world.passes(fleet); });
    const double truth = cheapest_by_force(world, false);
    INFO("seed " << seed);
    REQUIRE(found.found.empty() == (truth == 1e300));
    if (!found.found.empty()) CHECK(found.found.front().price == truth);
    const SearchCounts& counts = found.counts;
    CHECK(counts.points == 6 * 16);
    CHECK(counts.capacity + counts.price + counts.order + counts.judged == counts.points);
    judged += counts.judged, points += counts.points;
  }
  CHECK(judged * 10 < points);
}

TEST_CASE("Mixed pairs are found when they are cheaper") {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const World world = random_world(seed, 4, 12);
    const auto judge = [&](const Fleet& fleet) { return world.passes(fleet); };
    const auto found = cheapest_fleets(world.options, {.load = world.load, .mixed = true}, judge);
    INFO("seed " << seed);
    const double truth = cheapest_by_force(world, true);
    REQUIRE_FALSE(found.found.empty());
    CHECK(found.found.front().price == Approx(truth).epsilon(1e-12));
    CHECK(found.counts.capacity + found.counts.price + found.counts.order + found.counts.judged == found.counts.points);
    if (found.found.front().fleet.size() == 2) ++better;
  }
  CHECK(better > 5);
}

TEST_CASE("One fleet is listed for each kind, and a price limit is kept") {
  World world = random_world(3, 5, 16);
  world.options[1].kind = world.options[0].kind;
  const auto judge = [&](const Fleet& fleet) { return world.passes(fleet); };
  const auto found = cheapest_fleets(world.options, {.load = world.load, .top = 10}, judge);
  CHECK(found.found.size() == 4);
  CHECK(std::is_sorted(found.found.begin(), found.found.end(), [](const auto& a, const auto& b) { return a.price < b.price; }));
  for (const FoundFleet& fleet : found.found) {
    CHECK(world.passes(fleet.fleet));
    CHECK((fleet.fails.empty() || !world.passes(fleet.fails)));
  }
  for (ReplicaOption& option : world.options) {
    for (int n = 0; n <= option.most(); ++n) option.gpus.push_back(8 * n);
  }
  const auto few = cheapest_fleets(world.options, {.load = world.load, .most_gpus = 48, .top = 10, .mixed = true}, judge);
  for (const FoundFleet& fleet : few.found) {
    int replicas = 0;
    for (const auto& [option, count] : fleet.fleet) replicas += count;
    CHECK(replicas <= 6);
  }
  const auto none = cheapest_fleets(world.options, {.load = world.load, .most_price = found.found.front().price * 0.99, .top = 10}, judge);
  CHECK(none.found.empty());
}
