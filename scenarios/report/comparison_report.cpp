#include "scenarios/report/comparison_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/report/text.hpp"
#include "scenarios/report/version.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

std::string signed_figure(double value) { return (value < 0 ? "-" : "+") + figure(std::abs(value)); }

const StudiedScenario& first_of(const Comparison& comparison) { return comparison.scenarios.front(); }

}  // namespace

std::string verdict(const Metric& metric, const Estimate& difference) {
  if (difference.mean == 0 && difference.half_width == 0) return "the same";
  if (!difference.significant()) return "no significant difference";
  const bool up = difference.mean > 0;
  if (metric.better == Better::neither) return up ? "higher" : "lower";
  return up == (metric.better == Better::higher) ? "better" : "worse";
}

std::string difference_text(const Estimate& difference) {
  return fmt::format("{} ± {}", signed_figure(difference.mean), figure(difference.half_width));
}

std::string how_it_ran(const Comparison& comparison) {
  const std::uint64_t seed = first_of(comparison).scenario.seed;
  std::string text = fmt::format("{} replications each, seeds {} to {}. ", comparison.replications, seed, seed + comparison.replications - 1);
  text += comparison.same_workload ? "Rivals met the same requests in each.\n" : "The workloads differ, so the requests do too.\n";
  if (!comparison.seeds_matter) {
    return text + "Chance plays no part in this workload: replications are identical, and differences are exact for it alone.\n";
  }
  const std::string target = comparison.target.relative ? fmt::format("{:g} % of `{}`", comparison.target.half_width * 100, first_of(comparison).label)
                                                        : fmt::format("{:g}", comparison.target.half_width);
  return text + fmt::format("Target: {} known within ± {}: {}.\n", comparison.metric, target,
                            comparison.target_met ? "met" : "NOT met; raise --max-replications or the number of requests");
}

std::vector<std::size_t> attributed_metrics(const Comparison& comparison, std::size_t rival) {
  constexpr std::array<const char*, 6> usual{"p99_ttft_ms", "mean_tpot_ms", "mean_e2el_ms", "request_goodput", "output_throughput",
                                             "usd_per_million_output_tokens"};
  std::vector<std::size_t> chosen;
  const auto add = [&](const std::string& name) {
    for (std::size_t m = 0; m < metrics().size(); ++m) {
      const bool known = comparison.differences[rival][m].has_value();
      if (metrics()[m].name == name && known && std::find(chosen.begin(), chosen.end(), m) == chosen.end()) chosen.push_back(m);
    }
  };
  add(comparison.metric);
  for (const char* name : usual) add(name);
  return chosen;
}

std::string change_text(const KeyEffect& key) { return fmt::format("{}: {} -> {}", key.key, key.from, key.to); }

namespace {

std::string saturation_text(const Comparison& comparison) {
  std::string text;
  for (const StudiedScenario& side : comparison.scenarios) {
    const auto saturated = std::count_if(side.runs.begin(), side.runs.end(), [](const RunResult& run) { return run.metrics.saturated; });
    if (saturated == 0) continue;
    text += fmt::format("SATURATED: `{}` in {} of {} replications; its latencies depend on how long the runs last.\n", side.label, saturated,
                        side.runs.size());
  }
  return text;
}

std::string differences_text(const Comparison& comparison, std::size_t rival) {
  TextTable table;
  table.add({"mean of the replications", first_of(comparison).label, comparison.scenarios[rival].label, "difference, 95 %", ""});
  for (std::size_t m = 0; m < metrics().size(); ++m) {
    const auto& base = comparison.values.front()[m];
    const auto& value = comparison.values[rival][m];
    const auto& difference = comparison.differences[rival][m];
    if (!base && !value) continue;
    const auto cell = [](const std::optional<Estimate>& estimate) { return estimate ? figure(estimate->mean) : std::string("-"); };
    table.add({metrics()[m].label, cell(base), cell(value), difference ? difference_text(*difference) : "-",
               difference ? verdict(metrics()[m], *difference) : ""});
  }
  return table.text("  ");
}

std::string attribution_text(const Comparison& comparison, std::size_t rival) {
  const Attribution& attribution = comparison.attributions[rival];
  if (attribution.keys.empty()) return "";
  const std::vector<std::size_t> chosen = attributed_metrics(comparison, rival);
  TextTable table;
  std::vector<std::string> head{"key changed alone"};
  for (const std::size_t m : chosen) head.push_back(metrics()[m].label);
  table.add(std::move(head));
  const auto row = [&](const std::string& name, const MetricEstimates& estimates) {
    std::vector<std::string> cells{name};
    for (const std::size_t m : chosen) {
      const std::optional<Estimate> estimate = estimates.empty() ? std::nullopt : estimates[m];
      if (!estimate) cells.emplace_back("-");
      else cells.push_back(estimate->significant() || estimate->half_width == 0 ? difference_text(*estimate) : "(" + difference_text(*estimate) + ")");
    }
    table.add(std::move(cells));
  };
  std::string obstacles;
  for (const KeyEffect& key : attribution.keys) {
    row(change_text(key), key.effects);
    if (!key.obstacle.empty()) obstacles += fmt::format("  {} can't be changed alone: {}\n", key.key, key.obstacle);
  }
  row(obstacles.empty() ? "together, beyond their sum" : "the rest", attribution.remainder);
  row("all", comparison.differences[rival]);
  return fmt::format("\nWhat moved it, from `{}` to `{}` (in parentheses: no significant effect)\n{}{}", first_of(comparison).label,
                     comparison.scenarios[rival].label, table.text("  "), obstacles);
}

// Null for what is unknown or unbounded.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json estimates_json(const MetricEstimates& estimates, bool differences) {
  Json json = Json::object();
  for (std::size_t m = 0; m < estimates.size(); ++m) {
    const Metric& metric = metrics()[m];
    if (!estimates[m]) {
      json[metric.name] = nullptr;
      continue;
    }
    Json& entry = json[metric.name];
    entry["mean"] = estimates[m]->mean;
    entry["half_width"] = number(estimates[m]->half_width);
    if (!differences) continue;
    entry["significant"] = estimates[m]->significant();
    entry["verdict"] = verdict(metric, *estimates[m]);
  }
  return json;
}

Json attribution_json(const Attribution& attribution) {
  Json json;
  json["keys"] = Json::array();
  for (const KeyEffect& key : attribution.keys) {
    Json entry{{"key", key.key}, {"from", key.from}, {"to", key.to}};
    entry["obstacle"] = key.obstacle.empty() ? Json() : Json(key.obstacle);
    entry["effects"] = estimates_json(key.effects, true);
    json["keys"].push_back(std::move(entry));
  }
  json["remainder"] = estimates_json(attribution.remainder, true);
  return json;
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text = how_it_ran(comparison) + saturation_text(comparison);
  for (std::size_t rival = 1; rival < comparison.scenarios.size(); ++rival) {
    text += "\n" + differences_text(comparison, rival) + attribution_text(comparison, rival);
  }
  return text;
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  Json json;
  json["version"] = version();
  json["metric"] = comparison.metric;
  json["target"] = {{"half_width", comparison.target.half_width}, {"relative", comparison.target.relative}, {"met", comparison.target_met}};
  json["replications"] = comparison.replications;
  json["seed"] = first_of(comparison).scenario.seed;
  json["confidence"] = usual_confidence;
  json["seeds_matter"] = comparison.seeds_matter;
  json["same_workload"] = comparison.same_workload;
  json["scenarios"] = Json::array();
  for (std::size_t i = 0; i < comparison.scenarios.size(); ++i) {
    const StudiedScenario& side = comparison.scenarios[i];
    Json entry;
    entry["label"] = side.label;
    entry["saturated_replications"] =
        std::count_if(side.runs.begin(), side.runs.end(), [](const RunResult& run) { return run.metrics.saturated; });
    entry["metrics"] = estimates_json(comparison.values[i], false);
    if (i > 0) {
      entry["compared_with"] = first_of(comparison).label;
      entry["differences"] = estimates_json(comparison.differences[i], true);
      entry["attribution"] = comparison.attributions[i].remainder.empty() ? Json() : attribution_json(comparison.attributions[i]);
    }
    entry["scenario"] = to_json(side.scenario.resolved);
    json["scenarios"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace ridgeline
