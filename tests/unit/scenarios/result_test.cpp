// The JSON of a run is a contract: the names of vLLM's serving benchmark, and figures beside them.
#include "scenarios/report/run_json.hpp"

#include "scenarios/build/run.hpp"
#include "scenarios/report/chrome_trace.hpp"
#include "scenarios/report/request_log.hpp"
#include "scenarios/report/run_table.hpp"
#include "scenarios/report/step_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

TEST_CASE("Every key of the contract is there") {
  const Scenario scenario = scenario_from(one_gpu("h100-sxm-80gb"));
  const nlohmann::ordered_json json = run_json(scenario, run(scenario));
  for (const char* key : {"completed", "total_input_tokens", "total_output_tokens", "duration", "request_throughput", "request_goodput",
                          "output_throughput", "total_token_throughput", "saturated", "scenario", "version", "seed"}) {
    INFO(key);
    CHECK(json.contains(key));
  }
  for (const char* metric : {"ttft", "tpot", "itl", "e2el"}) {
    for (const char* statistic : {"mean", "median", "std", "p50", "p90", "p95", "p99"}) {
      const std::string key = std::string(statistic) + "_" + metric + "_ms";
      INFO(key);
      REQUIRE(json.contains(key));
      CHECK(json[key].is_number());
    }
  }
  REQUIRE(json["pools"].size() == 1);
  for (const auto& pool : {json["fleet"], json["pools"][0]}) {
    for (const char* key : {"replicas", "gpus", "num_gpu_blocks", "preemptions", "prefix_cache_hit_rate", "steps", "busy", "cost_usd",
                            "usd_per_million_output_tokens", "energy_joules"}) {
      INFO(key);
      CHECK(pool.contains(key));
    }
    CHECK(pool["kv_cache_usage"].contains("mean"));
    CHECK(pool["kv_cache_usage"].contains("peak"));
    CHECK(pool["queue"].contains("peak"));
    CHECK(pool["mfu"].contains("busy"));
    CHECK(pool["mbu"].contains("overall"));
    double sum = 0;
    for (const auto& share : pool["time_by_cause"]) sum += share.get<double>();
    CHECK(sum == Approx(1.0));
  }
}

TEST_CASE("TPOT of one-token outputs is undefined, not zero") {
  const Scenario scenario = scenario_from(constant_cost("", "{arrival: all_at_once, num_prompts: 4, input_tokens: 8, output_tokens: 1}"));
  const nlohmann::ordered_json json = run_json(scenario, run(scenario));
  CHECK(json["completed"] == 4);
  CHECK(json["mean_tpot_ms"].is_null());
  CHECK(json["mean_ttft_ms"].is_number());
}

TEST_CASE("Logs of a small run") {
  // One request, 32 prompt tokens, 3 outputs, steps of 1 ms: step 1 prefills and samples, steps 2 and 3 decode.
  const Scenario scenario = scenario_from(constant_cost("", "{arrival: all_at_once, num_prompts: 1, input_tokens: 32, output_tokens: 3}"));
  MemorySink steps, requests, trace;
  StepLog step_log(steps);
  RequestLog request_log(requests, {"pool-0"});
  ChromeTrace chrome_trace(trace, {"pool-0"});
  (void)run(scenario, {.observers = {&step_log, &request_log, &chrome_trace}, .log_steps = true});
  chrome_trace.end();
  // 99 usable blocks of 16 tokens; 2 hold the prompt, the first output needs no KV before step 2, which takes a third.
  CHECK(steps.text() ==
        "time_s,pool,replica,step,request,phase,scheduled_tokens,computed_tokens,output_tokens,running,waiting,free_blocks\n"
        "0,0,0,1,0,prefill,32,32,1,1,0,97\n"
        "0.001,0,0,2,0,decode,1,33,2,1,0,96\n"
        "0.002,0,0,3,0,decode,1,34,3,0,0,99\n");
  CHECK(requests.text() ==
        "request,pool,replica,arrival_s,sent_s,first_token_s,finish_s,input_tokens,output_tokens,cached_tokens,preemptions,ttft_ms,tpot_ms,e2el_ms\n"
        "0,pool-0,0,0,0,0.001,0.003,32,3,0,0,1,1,3\n");
  const nlohmann::json events = nlohmann::json::parse(trace.text());
  CHECK(events["traceEvents"].size() == 1 + 3 * 3);  // a name, then a slice and two counters a step
}

TEST_CASE("Objectives are judged as stated") {
  RunMetrics metrics;
  metrics.completed = 100;
  metrics.good = 95;
  metrics.ttft = {.count = 100, .p99 = 400};
  Slo slo;
  CHECK_FALSE(meets(slo, metrics).has_value());
  slo.ttft = Duration::milliseconds(500);
  CHECK_FALSE(meets(slo, metrics).has_value());
  slo.percentile = 99;
  CHECK(meets(slo, metrics) == std::optional(true));
  slo.percentile.reset();
  slo.goodput_share = 0.96;
  CHECK(meets(slo, metrics) == std::optional(false));
}

TEST_CASE("A saturated run says so") {
  // Service takes 8 ms for 8 requests at most; 10,000 requests a second cannot be kept up with.
  const Scenario scenario = scenario_from(constant_cost("", "{arrival: {process: constant, request_rate: 10000}, num_prompts: 3000, input_tokens: 16, output_tokens: 8}"));
  const RunResult result = run(scenario);
  CHECK(run_json(scenario, result)["saturated"] == true);
  CHECK(run_table(scenario, result).find("SATURATED") != std::string::npos);
}
