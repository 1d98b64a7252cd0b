// A whole run explained: what more of a resource does, and what the uncertainty of prices does.
#include <cmath>

#include "scenarios/explain/run_explanation.hpp"
#include "scenarios/report/run_explanation_report.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::constant_cost;
using ridgeline::test::scenario_from;

namespace {

std::string served(const std::string& engine, const std::string& rate, const std::string& more = "") {
  return "seed: 3\nmodel: llama-3.1-8b\nfleet: [{gpu: h100-sxm-80gb, engine: " + engine + "}]\n" +
         "workload: {request_rate: " + rate + ", num_prompts: 120, input_tokens: 500, output_tokens: 60}\n" + more;
}

const SensitivityRow* find(const Sensitivity& sensitivity, Resource resource) {
  for (const SensitivityRow& row : sensitivity.rows) {
    if (row.resource == resource) return &row;
  }
  return nullptr;
}

const UncertainFigure& figure_of(const Uncertainty& uncertainty, const std::string& name) {
  for (const UncertainFigure& f : uncertainty.figures) {
    if (f.metric->name == name) return f;
  }
  throw std::runtime_error("no figure " + name);
}

}  // namespace

TEST_CASE("more of a resource changes that resource alone") {
  const Scenario scenario = scenario_from(served("{tensor_parallel_size: 2, host_overhead: {per_step: 1 ms, per_sequence: 10 us, overlapped: false}}", "5"));
  const Pool& pool = scenario.fleet[0];
  const auto with = [&](Resource resource) { return with_resource(scenario, resource, 1.1)->fleet[0]; };

  CHECK(with(Resource::memory_bandwidth).gpu->memory_bandwidth.count() == Approx(1.1 * pool.gpu->memory_bandwidth.count()));
  CHECK(with(Resource::memory_bandwidth).gpu->peak(DType::bf16) == pool.gpu->peak(DType::bf16));
  CHECK(with(Resource::compute).gpu->peak(DType::bf16).count() == Approx(1.1 * pool.gpu->peak(DType::bf16).count()));
  CHECK(with(Resource::compute).gpu->boost_mhz == std::llround(1.1 * static_cast<double>(pool.gpu->boost_mhz)));
  CHECK(with(Resource::compute).gpu->memory_bandwidth == pool.gpu->memory_bandwidth);
  CHECK(with(Resource::link_bandwidth).gpu->link.per_gpu.count() == Approx(1.1 * pool.gpu->link.per_gpu.count()));
  CHECK(with(Resource::host_time).host.per_step == Duration::microseconds(1100));
  CHECK(with(Resource::host_time).host.per_sequence == Duration::microseconds(11));
  // A tenth more memory at the same utilisation: the whole gain becomes KV blocks.
  const Bytes gained{std::llround(0.1 * pool.memory->requested.as_double())};
  CHECK(with(Resource::memory_capacity).engine.num_gpu_blocks == pool.memory->layout.blocks_in(pool.memory->kv + gained));
  CHECK_FALSE(with_resource(scenario, Resource::acceptance, 1.1));  // no drafts
  CHECK_FALSE(with_resource(scenario_from(served("{}", "5")), Resource::link_bandwidth, 1.1));  // one GPU
}

TEST_CASE("a stated KV pool is what capacity means, and drafts are accepted at most always") {
  const Scenario scenario = scenario_from(
      "engine: {max_model_len: 4096, num_gpu_blocks_override: 100, max_num_seqs: 8, "
      "speculative_config: {method: ngram, num_speculative_tokens: 2, acceptance: [0.95, 0.5]}}\n"
      "fleet: [{replicas: 1}]\ncost: {model: constant, step_time: 1 ms}\n"
      "workload: {arrival: all_at_once, num_prompts: 4, input_tokens: 32, output_tokens: 8}\n");
  CHECK(with_resource(scenario, Resource::memory_capacity, 1.1)->fleet[0].engine.num_gpu_blocks == 110);
  const std::vector<double> acceptance = with_resource(scenario, Resource::acceptance, 1.1)->fleet[0].engine.speculation->acceptance;
  CHECK(acceptance.at(0) == 1.0);
  CHECK(acceptance.at(1) == Approx(0.55));
  for (const Resource resource : {Resource::memory_bandwidth, Resource::compute, Resource::link_bandwidth, Resource::host_time}) {
    CHECK_FALSE(with_resource(scenario, resource, 1.1));  // a constant step feels no chip
  }
}

TEST_CASE("decoding feels bandwidth, and the same for any number of threads") {
  // Few requests at a time: steps are weight reads. TPOT follows bandwidth, less what doesn't scale with it.
  const Scenario scenario = scenario_from(served("{}", "4", "slo: {ttft_ms: 200, tpot_ms: 20}\n"));
  const Sensitivity one = sensitivity(scenario, 2, 1);
  const Sensitivity two = sensitivity(scenario, 2, 2);
  REQUIRE(one.metrics.at(2)->name == "p99_tpot_ms");
  const SensitivityRow* bandwidth = find(one, Resource::memory_bandwidth);
  REQUIRE(bandwidth != nullptr);
  const double change = bandwidth->shifts.at(2)->relative;
  CHECK(change < -0.03);
  CHECK(change > 1 / 1.1 - 1);  // no more than all of the step
  CHECK(find(one, Resource::acceptance) == nullptr);
  CHECK(find(one, Resource::link_bandwidth) == nullptr);
  CHECK(one.seeds_matter);
  REQUIRE(one.rows.size() == two.rows.size());
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    CHECK(one.rows[i].resource == two.rows[i].resource);
    CHECK(one.rows[i].shifts.at(1)->difference.mean == two.rows[i].shifts.at(1)->difference.mean);
    if (i > 0) CHECK(one.rows[i - 1].reach() >= one.rows[i].reach());
  }
}

TEST_CASE("far from the knee prices are uncertain and latencies follow; near it they are not determined") {
  const Scenario light = scenario_from(served("{}", "2", "slo: {ttft_ms: 5000, tpot_ms: 500, percentile: 99}\n"));
  const Uncertainty calm = uncertainty(light, run(light), 20, 2);
  const UncertainFigure& tpot = figure_of(calm, "mean_tpot_ms");
  CHECK(tpot.low < tpot.unchanged);
  CHECK(tpot.unchanged < tpot.high);
  CHECK(tpot.high / tpot.low < 1.5);
  CHECK(calm.saturated == 0);
  CHECK(calm.slo_met == 20);
  for (const std::string& warning : calm.warnings) CHECK(warning.find("lies within") == std::string::npos);

  // The same prices against a limit that TPOT keeps only when they are right or lower.
  const double limit = tpot.unchanged * 1.02;
  const Scenario edge = scenario_from(served("{}", "2", "slo: {tpot_ms: " + std::to_string(limit) + ", percentile: 50}\n"));
  const Uncertainty doubtful = uncertainty(edge, run(edge), 20, 2);
  REQUIRE(doubtful.slo_met.has_value());
  CHECK(*doubtful.slo_met > 0);
  CHECK(*doubtful.slo_met < 20);
  REQUIRE_FALSE(doubtful.warnings.empty());
  CHECK(doubtful.warnings.front().find("edge of the SLO") != std::string::npos);
}

TEST_CASE("draws are a Latin hypercube: the same for any number of threads, half of them above") {
  const Scenario scenario = scenario_from(served("{host_overhead: {per_step: 500 us, per_sequence: 10 us, overlapped: true}}", "2"));
  const RunResult plain = run(scenario);
  const Uncertainty one = uncertainty(scenario, plain, 8, 1);
  const Uncertainty two = uncertainty(scenario, plain, 8, 2);
  REQUIRE(one.figures.size() == two.figures.size());
  for (std::size_t i = 0; i < one.figures.size(); ++i) {
    CHECK(one.figures[i].low == two.figures[i].low);
    CHECK(one.figures[i].high == two.figures[i].high);
  }
  std::vector<std::string> families;
  for (const UncertainPrice& price : one.prices) families.push_back(price.family);
  CHECK(families == std::vector<std::string>{"gemm", "attention_decode", "attention_prefill", "elementwise", "host"});
}

TEST_CASE("a stated step time is not doubted") {
  const Scenario scenario = scenario_from(constant_cost());
  CHECK(uncertain_prices(scenario).empty());
  const Uncertainty none = uncertainty(scenario, run(scenario), 10, 1);
  CHECK(none.figures.empty());
  CHECK(uncertainty_json(none)["draws"] == 0);
  CHECK(uncertainty_text(none).find("no price is uncertain") != std::string::npos);
}

TEST_CASE("a whole explanation, in words and as JSON") {
  const Scenario scenario = scenario_from(served("{}", "30", "slo: {ttft_ms: 25}\n"));
  const RunExplanation explanation = explain_run(scenario, {.replications = 1, .draws = 4, .jobs = 2, .progress = {}});
  const std::string text = run_explanation_text(explanation);
  CHECK(text.find("TTFT p99") != std::string::npos);
  CHECK(text.find("its own prompt (") != std::string::npos);
  CHECK(text.find("requests that missed the SLO") != std::string::npos);
  const nlohmann::ordered_json json = run_explanation_json(explanation);
  CHECK(json["time"]["requests"] == 120);
  CHECK(json["time"]["missed_slo"]["requests"] == 120 - explanation.result.metrics.good);
  for (const char* latency : {"mean_ttft", "p50_ttft", "p99_ttft", "mean_tpot", "p50_tpot", "p99_tpot"}) {
    std::int64_t sum = 0;
    for (const auto& [part, ps] : json["time"][latency]["parts_ps"].items()) sum += ps.get<std::int64_t>();
    CHECK(sum == json["time"][latency]["total_ps"].get<std::int64_t>());
  }
  CHECK(json["time"]["p99_ttft"]["total_ms"].get<double>() == explanation.result.metrics.ttft.p99);
  CHECK(json["uncertainty"]["draws"] == 4);
  CHECK(json["sensitivity"]["resources"].size() == 4);  // bandwidth, compute, capacity, host
}
