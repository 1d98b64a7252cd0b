// Scenarios set side by side: replications, verdicts, and which key moved what.
#include "scenarios/study/comparison.hpp"

#include <cmath>

#include "scenarios/report/comparison_report.hpp"
#include "scenarios/study/metric.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

// One request at a time, one token each: a single queue with a service time of one step.
std::string queue(const std::string& arrival, const std::string& step_time, const std::string& fleet = "[{}]", int requests = 400) {
  return "seed: 3\ncost: {model: constant, step_time: " + step_time + "}\n"
         "engine: {max_num_seqs: 1, max_num_batched_tokens: 64, max_model_len: 64, num_gpu_blocks_override: 100, async_scheduling: false}\n"
         "fleet: " + fleet + "\n"
         "workload: {arrival: " + arrival + ", num_prompts: " + std::to_string(requests) + ", input_tokens: 16, output_tokens: 1}\n";
}

StudiedScenario side(const std::string& label, const std::string& yaml) {
  const Config document = Config::parse(yaml, "test.yaml");
  return {.label = label, .document = document, .scenario = resolve_scenario(document)};
}

Comparison compared(const std::string& a, const std::string& b, ComparisonOptions options = {}) {
  options.jobs = 2;
  return compare({side("a", a), side("b", b)}, options);
}

std::size_t index_of(const std::string& name) {
  for (std::size_t i = 0; i < metrics().size(); ++i) {
    if (metrics()[i].name == name) return i;
  }
  throw InternalError("no metric " + name);
}

double effect(const MetricEstimates& estimates, const std::string& metric) { return estimates.at(index_of(metric))->mean; }

const std::string poisson = "{process: poisson, request_rate: 500}";

}  // namespace

TEST_CASE("Targets") {
  CHECK(parse_target("5%", "--target").half_width == Approx(0.05));
  CHECK(parse_target("5%", "--target").relative);
  CHECK(parse_target("2.5", "--target").half_width == 2.5);
  CHECK_FALSE(parse_target("2.5", "--target").relative);
  for (const char* text : {"", "%", "0", "-1", "5 %", "inf", "five"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_target(text, "--target"), ConfigError);
  }
}

TEST_CASE("A scenario does not differ from itself") {
  const Comparison comparison = compared(queue(poisson, "1 ms"), queue(poisson, "1 ms"));
  CHECK(comparison.replications == 5);
  CHECK(comparison.target_met);
  CHECK(comparison.seeds_matter);
  CHECK(comparison.differences[1][index_of("p99_ttft_ms")]->half_width == 0.0);
  CHECK(comparison.attributions[1].keys.empty());
  CHECK(comparison_text(comparison).find("the same") != std::string::npos);
}

TEST_CASE("Common random numbers tell apart what single intervals can't") {
  const Comparison comparison = compared(queue(poisson, "1 ms"), queue(poisson, "1.02 ms"));
  const std::size_t metric = index_of("mean_ttft_ms");
  const Estimate a = *comparison.values[0][metric];
  const Estimate b = *comparison.values[1][metric];
  const Estimate difference = *comparison.differences[1][metric];
  CHECK(difference.mean == Approx(b.mean - a.mean));
  CHECK(difference.significant());
  CHECK(a.high() > b.low());  // the two intervals overlap
  CHECK(difference.half_width < 0.5 * (a.half_width + b.half_width));
}

TEST_CASE("Replications are added until the target is met or the limit is hit") {
  ComparisonOptions options;
  options.metric = "mean_ttft_ms";
  options.attribution = false;
  options.target = {0.01, true};
  options.most_replications = 200;
  // Another arrival process of the same rate: nothing is shared, so the spread is wide.
  const std::string other = "{process: gamma, request_rate: 500, burstiness: 0.5}";
  const Comparison loose = compared(queue(poisson, "1 ms"), queue(other, "1 ms"), [&] { auto o = options; o.target = {0.2, true}; return o; }());
  const Comparison tight = compared(queue(poisson, "1 ms"), queue(other, "1 ms"), [&] { auto o = options; o.target = {0.05, true}; return o; }());
  CHECK(loose.target_met);
  CHECK(tight.target_met);
  CHECK(tight.replications > loose.replications);
  const std::size_t metric = index_of("mean_ttft_ms");
  CHECK(tight.differences[1][metric]->half_width <= 0.05 * tight.values[0][metric]->mean);
  CHECK_FALSE(tight.same_workload);
  options.most_replications = 8;
  const Comparison limited = compared(queue(poisson, "1 ms"), queue(other, "1 ms"), options);
  CHECK(limited.replications == 8);
  CHECK_FALSE(limited.target_met);
  CHECK(comparison_text(limited).find("NOT met") != std::string::npos);
}

TEST_CASE("The same process in other words makes no significant difference") {
  ComparisonOptions options;
  options.least_replications = 10;
  const Comparison comparison = compared(queue(poisson, "1 ms"), queue("{process: weibull, request_rate: 500, shape: 1}", "1 ms"), options);
  CHECK_FALSE(comparison.differences[1][index_of("mean_ttft_ms")]->significant());
  CHECK(comparison_text(comparison).find("no significant difference") != std::string::npos);
}

TEST_CASE("Without chance two replications say everything") {
  const std::string constant = "{process: constant, request_rate: 100}";
  const Comparison comparison = compared(queue(constant, "1 ms"), queue(constant, "2 ms"));
  CHECK_FALSE(comparison.seeds_matter);
  CHECK(comparison.replications == 2);
  CHECK(effect(comparison.differences[1], "mean_e2el_ms") == Approx(1.0));
  CHECK(comparison_text(comparison).find("Chance plays no part") != std::string::npos);
}

TEST_CASE("The answer does not depend on the number of threads") {
  ComparisonOptions options;
  const auto text = [&](std::size_t jobs) {
    options.jobs = jobs;
    return comparison_json(compare({side("a", queue(poisson, "1 ms")), side("b", queue(poisson, "1.5 ms", "[{replicas: 2}]"))}, options)).dump();
  };
  CHECK(text(1) == text(4));
}

TEST_CASE("Each key's effect, and what they do together") {
  const std::string fast = "{process: constant, request_rate: 800}";
  const Comparison comparison = compared(queue(fast, "1 ms", "[{}]", 100), queue(fast, "2 ms", "[{replicas: 2}]", 100));
  // 1.25 ms apart, 1 ms of service: nobody waits. 2 ms of service on one replica: the i-th waits 0.75 i, on average 0.75 * 99 / 2 ms. On two replicas
  // every second request, 2.5 ms apart: nobody waits.
  const Attribution& attribution = comparison.attributions[1];
  REQUIRE(attribution.keys.size() == 2);
  CHECK(attribution.keys[0].key == "cost.step_time");
  CHECK(effect(attribution.keys[0].effects, "mean_e2el_ms") == Approx(1 + 37.125));
  CHECK(attribution.keys[1].key == "fleet[0].replicas");
  CHECK(attribution.keys[1].from == "(default)");
  CHECK(attribution.keys[1].to == "2");
  CHECK(effect(attribution.keys[1].effects, "mean_e2el_ms") == Approx(0.0).margin(1e-9));
  CHECK(effect(comparison.differences[1], "mean_e2el_ms") == Approx(1.0));
  CHECK(effect(attribution.remainder, "mean_e2el_ms") == Approx(-37.125));
  const std::string text = comparison_text(comparison);
  CHECK(text.find("cost.step_time: 0.001 s -> 0.002 s") != std::string::npos);
  CHECK(text.find("together, beyond their sum") != std::string::npos);
}

TEST_CASE("A default written out, and a key in another place, are no changes") {
  const std::string written = "seed: 3\ncost: {model: constant, step_time: 1 ms}\n"
                              "fleet: [{name: other, replicas: 1, engine: {max_num_seqs: 1, max_num_batched_tokens: 64, max_model_len: 64, block_size: 16, "
                              "num_gpu_blocks_override: 100, async_scheduling: false}}]\n"
                              "workload: {request_rate: 500, num_prompts: 400, input_tokens: 16, output_tokens: 1}\n";
  const Comparison comparison = compared(queue(poisson, "1 ms"), written);
  CHECK(comparison.attributions[1].keys.empty());
}

TEST_CASE("A key that can't be changed alone says why") {
  // A percentile alone judges nothing; with the limit beside it, it does.
  const Comparison comparison = compared(queue(poisson, "1 ms"), queue(poisson, "1 ms") + "slo: {ttft_ms: 5, percentile: 99}\n");
  std::size_t obstacles = 0;
  for (const KeyEffect& key : comparison.attributions[1].keys) obstacles += key.obstacle.empty() ? 0U : 1U;
  CHECK(obstacles == 1);
  CHECK(comparison_text(comparison).find("can't be changed alone") != std::string::npos);
}

TEST_CASE("Fleets of unequal length are one key") {
  const Comparison comparison = compared(queue(poisson, "1 ms"), queue(poisson, "1 ms", "[{name: x}, {name: y}]"));
  REQUIRE(comparison.attributions[1].keys.size() == 1);
  CHECK(comparison.attributions[1].keys[0].key == "fleet");
}

TEST_CASE("A metric without a value is refused by name") {
  ComparisonOptions options;
  options.metric = "cost_usd";
  CHECK_THROWS_AS(compared(queue(poisson, "1 ms"), queue(poisson, "2 ms"), options), ConfigError);
  options.metric = "p99_tft_ms";
  CHECK_THROWS_AS(compared(queue(poisson, "1 ms"), queue(poisson, "2 ms"), options), ConfigError);
}
