#include "scenarios/report/run_json.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/report/idle_options.hpp"
#include "scenarios/report/provenance.hpp"
#include "scenarios/report/version.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

// An empty sample has no statistics: null, never zero.
void put_latency(Json& json, const std::string& metric, const Summary& summary) {
  const auto put = [&](const char* statistic, double value) {
    json[fmt::format("{}_{}_ms", statistic, metric)] = summary.count > 0 ? Json(value) : Json();
  };
  put("mean", summary.mean);
  put("median", summary.median);
  put("std", summary.std);
  put("p50", summary.p50);
  put("p90", summary.p90);
  put("p95", summary.p95);
  put("p99", summary.p99);
}

// Names of vLLM's `spec_decode` metrics where it has one.
Json speculation_json(const SpeculationMetrics& speculation) {
  const bool drafted = speculation.drafts > 0;
  return {{"num_drafts", speculation.drafts},
          {"num_draft_tokens", speculation.draft_tokens},
          {"num_accepted_tokens", speculation.accepted_tokens},
          {"mean_acceptance_length", drafted ? Json(speculation.mean_acceptance_length()) : Json()},
          {"draft_acceptance_rate", drafted ? Json(speculation.acceptance_rate()) : Json()},
          {"output_tokens_per_step", speculation.decodes > 0 ? Json(speculation.output_tokens_per_step()) : Json()},
          {"wasted", {{"tokens", speculation.rejected_tokens()},
                      {"share_of_draft_tokens", drafted ? Json(1.0 - speculation.acceptance_rate()) : Json()},
                      {"share_of_step_time", speculation.rejected}}},
          {"drafting_share_of_step_time", speculation.drafting}};
}

Json traffic_json(const char* count, const HostTrafficMetrics& traffic) {
  return {{count, traffic.sequences}, {"blocks", traffic.blocks}, {"tokens", traffic.tokens}, {"bytes", traffic.bytes}};
}

void put_kv_memory(Json& json, const PoolMetrics& pool) {
  json["prefix_cache_evicted_blocks"] = pool.prefix_cache_evicted_blocks;
  json["kv_evicted_tokens"] = pool.kv_evicted_tokens;
  Json& waste = json["kv_waste"];
  if (pool.kv_waste) {
    waste = {{"reserved", pool.kv_waste->reserved}, {"internal", pool.kv_waste->internal}, {"external", pool.kv_waste->external}};
  }
  json["swap"] = {{"out", traffic_json("requests", pool.swapped_out)}, {"in", traffic_json("requests", pool.swapped_in)}};
  json["offload"] = {{"stored", traffic_json("transfers", pool.offload_stored)},
                     {"loaded", traffic_json("transfers", pool.offload_loaded)}};
  json["host_blocks_peak"] = pool.host_blocks_peak;
}

Json pool_json(const PoolMetrics& pool) {
  Json json;
  json["name"] = pool.facts.name;
  json["replicas"] = pool.facts.replicas;
  json["gpus"] = pool.facts.gpus;
  json["num_gpu_blocks"] = pool.facts.num_gpu_blocks;
  json["completed"] = pool.completed;
  json["total_input_tokens"] = pool.input_tokens;
  json["total_output_tokens"] = pool.output_tokens;
  json["kv_cache_usage"] = {{"mean", pool.kv_cache_usage_mean}, {"peak", pool.kv_cache_usage_peak}};
  json["preemptions"] = pool.preemptions;
  json["queue"] = {{"mean", pool.queue_mean}, {"peak", pool.queue_peak}, {"share", pool.queue_share}};
  json["running"] = {{"mean", pool.running_mean}, {"peak", pool.running_peak}};
  json["prefix_cache_hit_rate"] = pool.prefix_cache_hit_rate();
  put_kv_memory(json, pool);
  json["steps"] = pool.steps;
  json["scheduled_tokens"] = pool.scheduled_tokens;
  json["step_tokens"] = {{"peak", pool.step_tokens_peak}};
  if (pool.speculation) json["speculation"] = speculation_json(*pool.speculation);
  const bool peaks = pool.facts.peak_compute.count() > 0;
  json["mfu"] = peaks ? Json{{"busy", pool.mfu_busy}, {"overall", pool.mfu}} : Json();
  json["mbu"] = peaks ? Json{{"busy", pool.mbu_busy}, {"overall", pool.mbu}} : Json();
  json["busy"] = pool.busy;
  const bool priced = pool.cost.count() > 0;
  json["cost_usd"] = priced ? Json(pool.cost.count()) : Json();
  const bool per_token = priced && pool.output_tokens > 0;
  json["usd_per_million_output_tokens"] =
      per_token ? Json(pool.cost.count() / static_cast<double>(pool.output_tokens) * 1e6) : Json();
  json["energy_joules"] = pool.energy.count() > 0 ? Json(pool.energy.count()) : Json();
  Json& causes = json["time_by_cause"];
  for (std::size_t i = 0; i < cause_count; ++i) causes[std::string(to_string(static_cast<Cause>(i)))] = pool.time_by_cause[i];
  return json;
}

Json lengths_json(const WorkloadStatistics::Lengths& lengths) {
  return {{"mean", lengths.mean}, {"p50", lengths.p50}, {"p90", lengths.p90}, {"p99", lengths.p99},
          {"min", lengths.least.count()}, {"max", lengths.most.count()}};
}

Json workload_json(const WorkloadNotes& notes) {
  Json json;
  json["description"] = notes.description;
  json["requests"] = notes.statistics.count;
  json["request_rate"] = notes.statistics.request_rate;
  json["gap_cv"] = notes.statistics.gap_cv;
  json["requested_output_tokens"] = notes.statistics.requested_output.count();
  json["produced_output_tokens"] = notes.statistics.output.total.count();
  json["input_tokens"] = lengths_json(notes.statistics.input);
  json["output_tokens"] = lengths_json(notes.statistics.output);
  const WorkloadStatistics::Rates& rates = notes.statistics.rates;
  json["rate_over_time"] = {
      {"window_s", rates.window.seconds()}, {"first", rates.first}, {"min", rates.least}, {"max", rates.most}};
  if (notes.sessions > 0) json["sessions"] = notes.sessions;
  if (notes.rows_read > 0) {
    json["trace_rows"] = {{"read", notes.rows_read}, {"zero_length", notes.zero_rows}, {"reordered", notes.late_rows}};
  }
  return json;
}

double percentile_of(const Summary& summary, double percentile) {
  return percentile == 50 ? summary.p50 : percentile == 90 ? summary.p90 : percentile == 95 ? summary.p95 : summary.p99;
}

}  // namespace

std::vector<std::string> run_warnings(const Scenario& scenario, const RunResult& result) {
  std::vector<std::string> list;
  for (const Diagnostic& warning : scenario.warnings) {
    list.push_back(warning.key.empty() ? warning.message : warning.key + ": " + warning.message);
  }
  for (const std::string& warning : result.workload.warnings) list.push_back("workload: " + warning);
  if (result.metrics.saturated) list.push_back("saturated: the queue still grew at the end, so latencies depend on how long the run lasts");
  if (result.metrics.near_knee) list.push_back(knee_text(result.metrics));
  return list;
}

std::string knee_text(const RunMetrics& metrics) {
  const MeanInterval& interval = metrics.mean_ttft_interval.value();
  return fmt::format("near the knee: {:.0f} % of the time requests waited, and the mean TTFT is known only to lie between {:.0f} and {:.0f} ms (95 %); "
                     "a little more load, another seed or other host overhead may move it by a multiple",
                     100 * metrics.fleet.queue_share, std::max(0.0, interval.low), interval.high);
}

std::optional<bool> meets(const Slo& slo, const RunMetrics& metrics) {
  if (slo.empty() || metrics.completed == 0) return std::nullopt;
  if (slo.goodput_share) {
    return static_cast<double>(metrics.good) >= *slo.goodput_share * static_cast<double>(metrics.completed);
  }
  if (!slo.percentile) return std::nullopt;
  const auto within = [&](const std::optional<Duration>& limit, const Summary& summary) {
    return !limit || summary.count == 0 || percentile_of(summary, *slo.percentile) <= limit->milliseconds();
  };
  return within(slo.ttft, metrics.ttft) && within(slo.tpot, metrics.tpot) && within(slo.itl, metrics.itl) &&
         within(slo.e2el, metrics.e2el);
}

nlohmann::ordered_json run_json(const Scenario& scenario, const RunResult& result) {
  const RunMetrics& metrics = result.metrics;
  Json json;
  json["name"] = scenario.name;
  json["completed"] = metrics.completed;
  json["total_input_tokens"] = metrics.total_input_tokens;
  json["total_output_tokens"] = metrics.total_output_tokens;
  json["duration"] = metrics.duration.seconds();
  json["request_throughput"] = metrics.request_throughput;
  json["request_goodput"] = metrics.request_goodput;
  json["output_throughput"] = metrics.output_throughput;
  json["total_token_throughput"] = metrics.total_token_throughput;
  put_latency(json, "ttft", metrics.ttft);
  put_latency(json, "tpot", metrics.tpot);
  put_latency(json, "itl", metrics.itl);
  put_latency(json, "e2el", metrics.e2el);
  put_latency(json, "queue_time", metrics.queue_time);
  json["saturated"] = metrics.saturated;
  json["near_knee"] = metrics.near_knee;
  json["latencies_flagged"] = metrics.saturated || metrics.near_knee;
  const auto& interval = metrics.mean_ttft_interval;
  json["mean_ttft_ms_interval"] = interval ? Json{interval->low, interval->high} : Json();
  const std::optional<bool> met = meets(scenario.slo, metrics);
  json["slo_met"] = met ? Json(*met) : Json();
  json["mean_outstanding"] = metrics.mean_outstanding;
  json["fleet"] = pool_json(metrics.fleet);
  json["pools"] = Json::array();
  for (const PoolMetrics& pool : metrics.pools) json["pools"].push_back(pool_json(pool));
  json["workload"] = workload_json(result.workload);
  json["warnings"] = run_warnings(scenario, result);
  json["options_without_effect"] = options_without_effect(scenario, result);
  for (const Pool& pool : scenario.fleet) json["provenance"][pool.name] = provenance_json(scenario, pool);
  json["scenario"] = to_json(scenario.resolved);
  json["version"] = version();
  json["seed"] = scenario.seed;
  json["events"] = result.events;
  json["fingerprint"] = fmt::format("{:016x}", result.fingerprint);
  return json;
}

}  // namespace ridgeline
