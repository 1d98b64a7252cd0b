#include "sim/metrics/distribution.hpp"

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

Duration ms(double x) { return Duration::seconds(x * 1e-3); }

}  // namespace

// Oracle S9 of the engine semantics: four requests (TTFT; gaps): (0.20; 4 x 0.05), (0.60; 0.10, 3 x 0.02), (0.10; none),
// (0.40; 10 x 0.03).
TEST_CASE("percentiles follow numpy's linear rule") {
  Distribution ttft;
  for (const double t : {200.0, 600.0, 100.0, 400.0}) ttft.add(ms(t));
  CHECK(ttft.summary().p50 == Approx(300.0));  // between 200 and 400
  CHECK(ttft.summary().p99 == Approx(594.0));  // rank 2.97: 400 + 0.97 * 200

  Distribution tpot;  // 0.05, (0.10 + 0.06)/4 = 0.04, 0.03; the one-token request is left out
  for (const double t : {50.0, 40.0, 30.0}) tpot.add(ms(t));
  CHECK(tpot.summary().mean == Approx(40.0));
  CHECK(tpot.summary().p90 == Approx(48.0));  // rank 1.8: 40 + 0.8 * 10

  Distribution itl;  // pooled: 4 x 50, 1 x 100, 3 x 20, 10 x 30 = 660 ms over 18 gaps
  itl.add(ms(50), 4);
  itl.add(ms(100));
  itl.add(ms(20), 3);
  itl.add(ms(30), 10);
  CHECK(itl.count() == 18);
  CHECK(itl.summary().mean == Approx(36.666667));
  CHECK(itl.summary().p99 == Approx(91.5));  // rank 16.83: 50 + 0.83 * 50
}

TEST_CASE("std is the population's, without cancellation") {
  Distribution d;
  for (int i = 0; i < 100'000; ++i) d.add(Duration::seconds(1'000.0));
  CHECK(d.summary().std == 0.0);
  Distribution two;
  two.add(ms(1));
  two.add(ms(3));
  CHECK(two.summary().std == Approx(1.0));
}

TEST_CASE("beyond the exact samples the error stays below 0.05 %") {
  Distribution d;
  const auto n = static_cast<std::int64_t>(Distribution::exact_samples) + 1000;
  for (std::int64_t i = 1; i <= n; ++i) d.add(Duration::nanoseconds(i));
  CHECK_FALSE(d.exact());
  for (const double p : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const double expected = (1.0 + static_cast<double>(n - 1) * p / 100.0) * 1e-9;
    CHECK(d.percentile(p).seconds() == Approx(expected).epsilon(0.0005));
  }
  CHECK(d.summary().max == Approx(static_cast<double>(n) * 1e-6));
}

TEST_CASE("an empty distribution has no figures") {
  const Distribution d;
  CHECK(d.summary().count == 0);
  CHECK(d.percentile(99) == Duration{});
}
