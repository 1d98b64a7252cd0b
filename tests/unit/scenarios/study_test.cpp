// Intervals, ordered parallel work, and replications on common random numbers.
#include <array>
#include <cmath>
#include <stdexcept>

#include "scenarios/study/estimate.hpp"
#include "scenarios/study/metric.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/replications.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;

TEST_CASE("A Student interval by hand") {
  // Mean 3, s^2 = (4 + 1 + 0 + 1 + 4) / 4 = 2.5, t(0.975, 4) = 2.776445: half-width 2.776445 * sqrt(2.5 / 5) = 1.963243.
  const Estimate five = estimate(std::array{1.0, 2.0, 3.0, 4.0, 5.0});
  CHECK(five.mean == 3.0);
  CHECK(five.half_width == Approx(1.963243).epsilon(1e-6));
  CHECK(five.significant());
  CHECK(five.covers(1.1));
  CHECK_FALSE(five.covers(1.0));
  // t(0.95, 4) = 2.131847.
  CHECK(estimate(std::array{1.0, 2.0, 3.0, 4.0, 5.0}, 0.90).half_width == Approx(2.131847 * std::sqrt(0.5)).epsilon(1e-6));
}

TEST_CASE("Intervals at the edges") {
  CHECK(std::isinf(estimate(std::array{7.0}).half_width));
  CHECK_FALSE(estimate(std::array{7.0}).significant());
  const Estimate equal = estimate(std::array{0.1, 0.1, 0.1});
  CHECK(equal.mean == 0.1);
  CHECK(equal.half_width == 0.0);
  CHECK(equal.significant());
  CHECK_FALSE(estimate(std::array{0.0, 0.0}).significant());
  CHECK_THROWS_AS(estimate({}), InternalError);
  CHECK_THROWS_AS(estimate(std::array{1.0, 2.0}, 1.0), InternalError);
}

TEST_CASE("Pairing takes away what both share") {
  const std::array a{10.0, 20.0, 30.0};
  const std::array b{11.0, 21.5, 30.5};
  // Differences 1, 1.5, 0.5: mean 1, s = 0.5, t(0.975, 2) = 4.302653.
  const Estimate difference = estimate_difference(a, b);
  CHECK(difference.mean == Approx(1.0));
  CHECK(difference.half_width == Approx(4.302653 * 0.5 / std::sqrt(3.0)).epsilon(1e-6));
  CHECK_THROWS_AS(estimate_difference(a, std::array{1.0}), InternalError);
}

TEST_CASE("A parallel map keeps the order, whatever the number of threads") {
  for (const std::size_t jobs : {1U, 2U, 7U, 200U}) {
    std::size_t heard = 0;
    const auto squares = parallel_map(100, jobs, [](std::size_t i) { return i * i; }, [&](std::size_t n) { heard = std::max(heard, n); });
    REQUIRE(squares.size() == 100);
    for (std::size_t i = 0; i < squares.size(); ++i) CHECK(squares[i] == i * i);
    CHECK(heard == 100);
  }
  CHECK(parallel_map(0, 4, [](std::size_t i) { return i; }).empty());
  CHECK(default_jobs() >= 1);
}

TEST_CASE("The first of several failures is the one reported") {
  for (const std::size_t jobs : {1U, 3U, 16U}) {
    try {
      parallel_for(64, jobs, [](std::size_t i) {
        if (i >= 5 && i % 3 == 2) throw std::runtime_error(std::to_string(i));
      });
      FAIL("expected an exception");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "5");
    }
  }
}

TEST_CASE("Replication i runs with seed + i, and rivals meet the same requests") {
  const std::string workload = "{request_rate: 50, num_prompts: 40, input_tokens: {distribution: uniform, min: 8, max: 64}, output_tokens: 8}";
  const Scenario one = test::scenario_from("seed: 7\n" + test::constant_cost("", workload));
  const auto runs = replicate(one, 0, 3, 2);
  REQUIRE(runs.size() == 3);
  CHECK(seeds_matter(runs));
  CHECK(replicate(one, 2, 1, 1).front().fingerprint == runs[2].fingerprint);
  CHECK(run(with_seed(one, 9)).fingerprint == runs[2].fingerprint);
  CHECK(with_seed(one, 9).resolved.find("seed")->scalar() == "9");
  const Scenario resolved_again = resolve_scenario(with_seed(one, 9).resolved);
  CHECK(run(resolved_again).fingerprint == runs[2].fingerprint);

  const Scenario other = test::scenario_from("seed: 7\nrouter: random\n" + test::constant_cost("name: other\n", workload));
  const auto rivals = replicate(other, 0, 3, 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(rivals[i].metrics.total_input_tokens == runs[i].metrics.total_input_tokens);
}

TEST_CASE("Workloads without chance are recognised") {
  const auto runs = replicate(test::scenario_from(test::constant_cost()), 0, 2, 1);
  CHECK_FALSE(seeds_matter(runs));
}

TEST_CASE("Metrics by name") {
  const Scenario scenario = test::scenario_from(test::constant_cost());
  const auto runs = replicate(scenario, 0, 2, 1);
  // All four requests start at once; prefill takes one step of 1 ms, so every first token comes at 1 ms.
  CHECK(values_of(find_metric("p99_ttft_ms", "--metric"), scenario, runs) == std::vector<double>{1.0, 1.0});
  CHECK(values_of(find_metric("cost_usd", "--metric"), scenario, runs).empty());  // no price
  CHECK(values_of(find_metric("slo_attainment", "--metric"), scenario, runs).empty());  // no objective
  try {
    find_metric("p99_ttft", "--metric");
    FAIL("expected a ConfigError");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("--metric: unknown metric `p99_ttft`; did you mean `p99_ttft_ms`") == 0);
  }
}
