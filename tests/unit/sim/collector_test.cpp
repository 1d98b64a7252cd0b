#include "sim/metrics/collector.hpp"

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

Time at(double seconds) { return Time{Duration::seconds(seconds)}; }

// One request through the collector: sent at 0, first token after `ttft`, then `gaps`.
void feed(MetricsCollector& collector, double ttft, const std::vector<double>& gaps) {
  Request request;
  request.spec.input = Tokens{10};
  request.spec.output = Tokens{static_cast<std::int64_t>(gaps.size()) + 1};
  collector.arrived(request, at(0));
  collector.admitted(request, Tokens{}, at(0));
  request.first_token = at(ttft);
  collector.first_token(request, request.first_token);
  double now = ttft;
  for (const double gap : gaps) {
    now += gap;
    collector.chunks({PoolId{0}, at(now), Duration::seconds(gap), 1, 1});
  }
  request.emitted = request.spec.output;
  collector.finished(request, at(now));
}

}  // namespace

// Oracle S9 of the engine semantics, whole.
TEST_CASE("four requests with known gaps give the known metrics and goodput") {
  MetricsCollector collector({PoolFacts{.name = "p"}}, {0},
                             {.ttft = Duration::milliseconds(500), .tpot = Duration::milliseconds(45)});
  feed(collector, 0.20, {0.05, 0.05, 0.05, 0.05});  // TPOT 50 ms: too slow
  feed(collector, 0.10, {});                        // one token: TPOT counts as 0
  feed(collector, 0.40, std::vector<double>(10, 0.03));
  feed(collector, 0.60, {0.10, 0.02, 0.02, 0.02});  // TTFT 600 ms: too late
  const RunMetrics metrics = collector.metrics();
  CHECK(metrics.completed == 4);
  CHECK(metrics.good == 2);
  CHECK(metrics.tpot.count == 3);
  CHECK(metrics.tpot.mean == Approx(40.0));
  CHECK(metrics.tpot.p90 == Approx(48.0));
  CHECK(metrics.itl.mean == Approx(36.666667));
  CHECK(metrics.itl.p99 == Approx(91.5));
  CHECK(metrics.ttft.p50 == Approx(300.0));
  CHECK(metrics.ttft.p99 == Approx(594.0));
  // The last token leaves at 0.76 s (0.60 + 0.16): goodput 2 / 0.76.
  CHECK(metrics.duration.seconds() == Approx(0.76));
  CHECK(metrics.request_goodput == Approx(2.0 / 0.76));
}

TEST_CASE("energy and cost follow time") {
  // Two GPUs at 3 USD/h, 100 W idle, never busy, for 1800 s: 3 USD, 360 kJ.
  PoolFacts facts{.name = "p", .gpus = 2, .price = DollarsPerHour{3.0}};
  facts.power[static_cast<std::size_t>(Cause::idle)] = Watts{100.0};
  MetricsCollector collector({facts}, {0}, {});
  feed(collector, 1800.0, {});
  const RunMetrics metrics = collector.metrics();
  CHECK(metrics.fleet.cost.count() == Approx(3.0));
  CHECK(metrics.fleet.energy.count() == Approx(360'000.0));
  CHECK(metrics.fleet.busy == 0.0);
  CHECK(*metrics.fleet.usd_per_million_output_tokens() == Approx(3.0e6));
}

TEST_CASE("a run without requests has figures of zero") {
  const RunMetrics metrics = MetricsCollector({PoolFacts{.name = "p"}}, {0}, {}).metrics();
  CHECK(metrics.completed == 0);
  CHECK(metrics.duration == Duration{});
  CHECK_FALSE(metrics.saturated);
}
