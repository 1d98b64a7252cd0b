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

TEST_CASE("Ranges of whole numbers are rounded, and numbers that meet are one") {
  // 1 to 5 in five steps of equal factor: 1, 1.495, 2.236, 3.344, 5.
  const auto points = points_of("sweep: {r: {from: 1, to: 5, steps: 5, scale: log, integer: true}}\n");
  std::string values;
  for (const ScenarioPoint& point : points) values += point.document.find("r")->scalar();
  CHECK(values == "1235");
}

TEST_CASE("Named values set one thing and are called another") {
  const auto points = points_of("sweep: {e.draft: {named: {off: null, on: {method: ngram, n: 4}}}}\n");
  REQUIRE(points.size() == 2);
  CHECK(points[0].label == "e.draft=off");
  CHECK(points[0].document.find("e")->find("draft")->is_null());
  CHECK(points[1].values.front() == std::pair<std::string, std::string>("e.draft", "on"));
  CHECK(points[1].document.find("e")->find("draft")->find("n")->scalar() == "4");
}

TEST_CASE("Paired keys move together and combine with the others") {
  const auto points = points_of("sweep:\n  paired: {a: [1, 2, 3], b: {from: 10, to: 30, steps: 3}}\n  c: [7, 8]\n");
  REQUIRE(points.size() == 6);
  CHECK(points[0].label == "a=1, b=10, c=7");
  CHECK(points[1].label == "a=1, b=10, c=8");
  CHECK(points[5].label == "a=3, b=30, c=8");
  CHECK(points[5].document.find("b")->scalar() == "30");
  const auto two = points_of("sweep:\n  paired: [{a: [1, 2], b: [3, 4]}, {c: [5, 6], d: [7, 8]}]\n");
  REQUIRE(two.size() == 4);
  CHECK(two[1].label == "a=1, b=3, c=6, d=8");
}

TEST_CASE("Mistakes in sweeps") {
  CHECK(mistakes_in("sweep: {paired: {a: [1, 2], b: [1, 2, 3]}}\n").find("has 3 values, the first key of its pairing has 2") != std::string::npos);
  CHECK(mistakes_in("sweep: {paired: {a: [1, 2]}}\n").find("expected two or more keys") != std::string::npos);
  CHECK(mistakes_in("sweep: {a: [1], paired: {a: [1, 2], b: [1, 2]}}\n").find("`a` is swept twice") != std::string::npos);
  CHECK(mistakes_in("sweep: {a: {named: [1]}}\n").find("expected names with values") != std::string::npos);
  CHECK(mistakes_in("sweep: {a: {form: 1, to: 2, steps: 3}}\n").find("did you mean `from`") != std::string::npos);
  CHECK_THROWS_AS(points_of("sweep: [1, 2]\n"), ConfigError);
  CHECK_THROWS_AS(points_of("sweep: {a: 1}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("sweep: {a: []}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("sweep: {a: {from: 0, to: 1, steps: 3, scale: log}}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("alternatives: {a: 3}\n"), ConfigError);
  CHECK_THROWS_AS(points_of("fleet: [{}]\nsweep: {'fleet[2].replicas': [1]}\n"), ConfigError);
}
