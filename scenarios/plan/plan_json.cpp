#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/plan/plan_text.hpp"
#include "scenarios/report/version.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

// One sample has no interval: null, never infinity.
Json estimate_json(const Estimate& value) {
  return {{"mean", value.mean}, {"half_width_95", value.samples > 1 ? Json(value.half_width) : Json()}, {"samples", value.samples}};
}
Json estimate_json(const std::optional<Estimate>& value) { return value ? estimate_json(*value) : Json(); }
Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json figures_json(const FleetFigures& figures) {
  Json json;
  json["replications"] = figures.replications;
  json["met"] = figures.met;
  json["misses"] = figures.misses.empty() ? Json() : Json(figures.misses);
  json["p50_ttft_ms"] = estimate_json(figures.ttft_p50_ms);
  json["tail_ttft_ms"] = estimate_json(figures.ttft_ms);
  json["p50_tpot_ms"] = estimate_json(figures.tpot_p50_ms);
  json["tail_tpot_ms"] = estimate_json(figures.tpot_ms);
  json["tail_e2el_ms"] = estimate_json(figures.e2el_ms);
  json["slo_attainment"] = estimate_json(figures.slo_attainment);
  json["request_throughput"] = estimate_json(figures.request_throughput);
  json["output_throughput"] = estimate_json(figures.output_throughput);
  json["total_token_throughput"] = estimate_json(figures.total_token_throughput);
  json["usd_per_million_output_tokens"] = estimate_json(figures.usd_per_million_output_tokens);
  json["watts"] = estimate_json(figures.watts);
  json["busy"] = estimate_json(figures.busy);
  json["kv_cache_usage_peak"] = estimate_json(figures.kv_cache_usage_peak);
  json["running"] = estimate_json(figures.running);
  json["preemptions"] = figures.preemptions;
  return json;
}

const char* knob_name(LoadKnob knob) {
  switch (knob) {
    case LoadKnob::request_rate: return "request_rate";
    case LoadKnob::rate_factor: return "rate_factor";
    case LoadKnob::max_concurrency: return "max_concurrency";
  }
  throw InternalError("a load knob of an unknown kind");
}

Json demand_json(const Demand& demand) {
  Json json;
  json["load"] = {{"of", knob_name(demand.knob)}, {"value", demand.load}};
  json["requests_per_run"] = demand.requests;
  json["mean_input_tokens"] = demand.mean_input;
  json["mean_output_tokens"] = demand.mean_output;
  json["tail_input_tokens"] = demand.tail_input.count();
  json["longest_request_tokens"] = demand.longest.count();
  return json;
}

Json ruled_out_json(const std::vector<RuledOut>& ruled_out) {
  Json list = Json::array();
  for (const RuledOut& one : ruled_out) list.push_back({{"configuration", one.label}, {"reason", one.reason}, {"detail", one.detail}});
  return list;
}

Json answer_json(const MaxRatePlan& plan) {
  Json json;
  json["goal"] = "max-rate";
  json["fleet"] = plan.fleet;
  json["demand"] = demand_json(plan.demand);
  json["feasible"] = plan.load.has_value();
  json["max_load"] = estimate_json(plan.load);
  json["by_replication"] = plan.knees;
  json["bound"] = plan.bound < unbounded_capacity ? Json(plan.bound) : Json();
  json["limit"] = plan.limit.empty() ? Json() : Json(plan.limit);
  json["all_that_fits"] = plan.all_that_fits;
  json["alone"] = {{"ttft_ms", plan.alone.ttft.milliseconds()}, {"tpot_ms", plan.alone.tpot.milliseconds()}};
  json["points"] = Json::array();
  for (const LoadPoint& point : plan.points) {
    json["points"].push_back({{"load", point.load}, {"share_of_answer", point.share}, {"figures", figures_json(point.figures)}});
  }
  json["simulations"] = plan.simulations;
  return json;
}

Json row_json(const FleetRow& row) {
  Json json;
  json["fleet"] = row.label;
  json["replicas"] = row.replicas;
  json["spares"] = row.spares;
  json["gpus"] = row.gpus;
  json["usd_per_hour"] = row.price;
  json["usd_per_hour_low"] = row.price_low;
  json["usd_per_hour_high"] = row.price_high;
  json["usd_per_million_output_tokens"] = number(row.usd_per_million_output_tokens);
  json["watts"] = number(row.watts);
  json["longest_requests_held"] = row.held;
  json["alone"] = {{"ttft_ms", row.alone.ttft.milliseconds()}, {"tpot_ms", row.alone.tpot.milliseconds()}};
  json["one_replica_fewer"] = row.smaller_fails.empty() ? Json() : Json(row.smaller_fails);
  json["figures"] = figures_json(row.figures);
  return json;
}

Json answer_json(const CheapestFleetPlan& plan) {
  Json json;
  json["goal"] = "cheapest-fleet";
  json["demand"] = demand_json(plan.demand);
  json["planned_for_busiest"] = !plan.demand.busiest.empty();
  json["feasible"] = !plan.rows.empty();
  json["fleets"] = Json::array();
  for (const FleetRow& row : plan.rows) json["fleets"].push_back(row_json(row));
  json["whole_workload"] = plan.whole_workload ? figures_json(*plan.whole_workload) : Json();
  json["whole_workload_usd_per_million_output_tokens"] = number(plan.whole_usd_per_million);
  json["whole_workload_watts"] = number(plan.whole_watts);
  json["search"] = {{"configurations", plan.configurations}, {"ruled_out_configurations", plan.ruled_out.size()},
                    {"ruled_out_fleets", plan.ruled_out_points}, {"fleets", plan.counts.points}, {"pruned_by_capacity", plan.counts.capacity},
                    {"pruned_by_price", plan.counts.price}, {"decided_by_order", plan.counts.order}, {"simulated", plan.counts.judged},
                    {"simulations", plan.simulations}};
  json["ruled_out"] = ruled_out_json(plan.ruled_out);
  json["advice"] = plan.advice;
  return json;
}

Json answer_json(const ParetoPlan& plan) {
  Json json;
  json["goal"] = "pareto";
  json["demand"] = demand_json(plan.demand);
  json["points"] = Json::array();
  for (const ParetoPoint& point : plan.points) {
    Json row;
    row["configuration"] = point.label;
    row["gpus"] = point.gpus;
    row["max_concurrency"] = point.concurrency;
    row["tokens_per_second_per_user"] = estimate_json(point.tokens_per_user);
    row["output_tokens_per_second_per_gpu"] = estimate_json(point.output_per_gpu);
    row["total_tokens_per_second_per_gpu"] = estimate_json(point.total_per_gpu);
    row["usd_per_million_output_tokens_low"] = number(point.usd_per_million_low);
    row["usd_per_million_output_tokens_high"] = number(point.usd_per_million_high);
    row["front"] = point.front;
    row["figures"] = figures_json(point.figures);
    json["points"].push_back(std::move(row));
  }
  json["leads"] = Json::array();
  for (const ParetoLead& lead : plan.leads) {
    json["leads"].push_back({{"max_concurrency", lead.concurrency}, {"most_tokens_per_gpu", lead.throughput}, {"most_tokens_per_user", lead.latency}});
  }
  json["recommended"] = plan.recommended ? Json{{"configuration", plan.points[*plan.recommended].label}, {"max_concurrency", plan.points[*plan.recommended].concurrency}} : Json();
  json["ruled_out"] = ruled_out_json(plan.ruled_out);
  json["simulations"] = plan.simulations;
  return json;
}

}  // namespace

nlohmann::ordered_json plan_json(const PlanResult& result) {
  Json json;
  json["name"] = result.name;
  json["workload"] = result.workload;
  json["replications"] = result.replications;
  json["tail_percentile"] = quoted_percentile(result.slo);
  json.update(std::visit([](const auto& plan) { return answer_json(plan); }, result.answer));
  json["chosen"] = result.chosen ? to_json(*result.chosen) : Json();
  json["notes"] = result.notes;
  json["warnings"] = Json::array();
  for (const Diagnostic& warning : result.warnings) json["warnings"].push_back(to_string(warning));
  json["version"] = version();
  json["seed"] = result.seed;
  return json;
}

}  // namespace ridgeline
