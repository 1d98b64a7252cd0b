#include "scenarios/report/run_explanation_report.hpp"
#include "scenarios/report/version.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

// Picoseconds, so that a reader can check the sums.
Json parts_json(const TimeParts& parts) {
  Json json;
  json["total_ms"] = parts.total().milliseconds();
  json["total_ps"] = parts.total().count();
  for (std::size_t i = 0; i < time_part_count; ++i) {
    const TimePart part{static_cast<std::uint8_t>(i)};
    json["parts_ps"][std::string(to_string(part))] = parts[part].count();
  }
  return json;
}

Json group_json(const RequestGroup& group) {
  Json json;
  json["requests"] = group.requests;
  json["mean_ttft"] = group.requests > 0 ? parts_json(group.ttft) : Json();
  json["mean_tpot"] = group.decoding > 0 ? parts_json(group.tpot) : Json();
  return json;
}

Json breakdown_json(const Breakdown& breakdown) {
  Json json = group_json(breakdown.all);
  json["p50_ttft"] = parts_json(breakdown.ttft_p50);
  json["p99_ttft"] = parts_json(breakdown.ttft_p99);
  if (breakdown.all.decoding > 0) {
    json["p50_tpot"] = parts_json(breakdown.tpot_p50);
    json["p99_tpot"] = parts_json(breakdown.tpot_p99);
  }
  json["missed_slo"] = breakdown.missed ? group_json(*breakdown.missed) : Json();
  for (const NamedGroup& pool : breakdown.pools) json["pools"][pool.name] = group_json(pool.group);
  return json;
}

Json shift_json(const std::optional<Shift>& shift) {
  if (!shift) return {};
  const bool several = shift->difference.samples > 1;
  return {{"difference", shift->difference.mean},
          {"half_width", several ? Json(shift->difference.half_width) : Json()},
          {"relative", shift->relative},
          {"significant", several ? Json(shift->difference.significant()) : Json()}};
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  Json json;
  json["factor"] = sensitivity.factor;
  json["replications"] = sensitivity.replications;
  json["seeds_matter"] = sensitivity.seeds_matter;
  for (std::size_t i = 0; i < sensitivity.metrics.size(); ++i) {
    const auto& value = sensitivity.unchanged[i];
    json["unchanged"][sensitivity.metrics[i]->name] = value ? Json(*value) : Json();
  }
  json["resources"] = Json::array();
  for (const SensitivityRow& row : sensitivity.rows) {
    Json entry;
    entry["resource"] = to_string(row.resource);
    entry["failure"] = row.failure.empty() ? Json() : Json(row.failure);
    for (std::size_t i = 0; i < row.shifts.size(); ++i) entry["changes"][sensitivity.metrics[i]->name] = shift_json(row.shifts[i]);
    json["resources"].push_back(std::move(entry));
  }
  json["notes"] = sensitivity.notes;
  return json;
}

}  // namespace

nlohmann::ordered_json uncertainty_json(const Uncertainty& uncertainty) {
  Json json;
  json["draws"] = uncertainty.prices.empty() ? 0 : uncertainty.draws;
  json["correlation"] = "one factor a family: full within it, none between families";
  json["prices"] = Json::array();
  for (const UncertainPrice& price : uncertainty.prices) {
    json["prices"].push_back({{"family", price.family}, {"of", price.gpu}, {"expected_error", price.error}});
  }
  json["figures"] = Json::object();
  for (const UncertainFigure& f : uncertainty.figures) {
    json["figures"][f.metric->name] = {{"unchanged", f.unchanged}, {"p5", f.low}, {"p50", f.median}, {"p95", f.high},
                                       {"undetermined", f.undetermined()}};
  }
  json["saturated_draws"] = uncertainty.saturated;
  json["slo_met_draws"] = uncertainty.slo_met ? Json(*uncertainty.slo_met) : Json();
  json["warnings"] = uncertainty.warnings;
  return json;
}

nlohmann::ordered_json run_explanation_json(const RunExplanation& explanation) {
  Json json;
  json["name"] = explanation.scenario.name;
  json["saturated"] = explanation.result.metrics.saturated;
  json["time"] = breakdown_json(explanation.breakdown);
  if (explanation.sensitivity) json["sensitivity"] = sensitivity_json(*explanation.sensitivity);
  if (explanation.uncertainty) json["uncertainty"] = uncertainty_json(*explanation.uncertainty);
  json["version"] = version();
  json["seed"] = explanation.scenario.seed;
  return json;
}

}  // namespace ridgeline
