#include "scenarios/load/expand.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {
std::vector<ScenarioPoint> points_of(const std::string& yaml) { return expand(Config::parse(yaml, "test.yaml")); }
}  // namespace

TEST_CASE("A plain document is one point") {
  const auto points = points_of("seed: 1\n");
  REQUIRE(points.size() == 1);
  CHECK(points[0].label.empty());
}

TEST_CASE("Alternatives come first, the last swept key runs fastest") {
  const auto points = points_of("a: 1\nalternatives: {x: {a: 2}, y: {a: 3}}\nsweep:\n  b: [5, 6]\n  c.d: [7, 8]\n");
  REQUIRE(points.size() == 8);
  CHECK(points[0].label == "x, b=5, c.d=7");
  CHECK(points[1].label == "x, b=5, c.d=8");
  CHECK(points[2].label == "x, b=6, c.d=7");
  CHECK(points[7].label == "y, b=6, c.d=8");
  CHECK(points[7].document.find("a")->scalar() == "3");
  CHECK(points[7].document.find("c")->find("d")->scalar() == "8");
  CHECK_FALSE(points[7].document.find("sweep"));
  CHECK_FALSE(points[7].document.find("alternatives"));
}

TEST_CASE("Ranges, linear and logarithmic") {
  // 1 to 16 in five steps of equal factor: 1, 2, 4, 8, 16.
  const auto log = points_of("sweep: {r: {from: 1, to: 16, steps: 5, scale: log}}\n");
  REQUIRE(log.size() == 5);
  CHECK(log[3].document.find("r")->scalar() == "8");
  const auto linear = points_of("sweep: {r: {from: 0, to: 1, steps: 3}}\n");
  REQUIRE(linear.size() == 3);
  CHECK(linear[1].document.find("r")->scalar() == "0.5");
}

TEST_CASE("Mistakes in sweeps") {
  CHECK_THROWS_AS(points_of("sweep: [1, 2]\n"), ConfigError);
  CHECK_THROWS_AS(points_of("sweep: {a: 1}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("sweep: {a: []}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("sweep: {a: {from: 0, to: 1, steps: 3, scale: log}}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("alternatives: {a: 3}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("fleet: [{}]\nsweep: {'fleet[2].replicas': [1]}\n"), ConfigError);
}
