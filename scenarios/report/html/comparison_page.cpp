#include "scenarios/report/html/comparison_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/report/comparison_report.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline::html {

namespace {

constexpr std::array<const char*, 13> main_figures{
    "request_throughput", "request_goodput", "slo_attainment", "output_throughput", "mean_ttft_ms", "p50_ttft_ms", "p99_ttft_ms",
    "mean_tpot_ms", "p99_tpot_ms", "mean_e2el_ms", "p99_e2el_ms", "usd_per_million_output_tokens", "energy_joules"};

std::string cell(const std::optional<Estimate>& estimate) { return estimate ? figure(estimate->mean) : "-"; }

Table differences_table(const Comparison& comparison, std::size_t rival) {
  Table table{{"mean of the replications", comparison.scenarios.front().label, comparison.scenarios[rival].label, "difference, 95 %", "verdict"}, {}};
  for (std::size_t m = 0; m < metrics().size(); ++m) {
    const auto& base = comparison.values.front()[m];
    const auto& value = comparison.values[rival][m];
    const auto& difference = comparison.differences[rival][m];
    if (!base && !value) continue;
    table.rows.push_back({metrics()[m].label, cell(base), cell(value), difference ? difference_text(*difference) : "-",
                          difference ? verdict(metrics()[m], *difference) : ""});
  }
  return table;
}

// Figures have different units, so differences are shares of the first scenario's mean.
std::optional<IntervalChart> differences_chart(const Comparison& comparison, std::size_t rival) {
  const std::string& first = comparison.scenarios.front().label;
  IntervalChart chart{.title = fmt::format("{} against {}", comparison.scenarios[rival].label, first),
                      .caption = fmt::format("Difference as a share of {}'s mean, with its 95 % interval. An interval that holds 0 is no significant difference.", first),
                      .value = {"difference, %"}, .middle = "mean difference", .bars = {}};
  for (const char* name : main_figures) {
    const std::size_t m = metric_index(name);
    const auto& base = comparison.values.front()[m];
    const auto& difference = comparison.differences[rival][m];
    if (!difference || !base || base->mean == 0) continue;
    const auto share = [&](double value) { return 100 * value / std::abs(base->mean); };
    chart.bars.push_back({fmt::format("{}: {}", metrics()[m].label, verdict(metrics()[m], *difference)), share(difference->low()), share(difference->mean),
                          share(difference->high())});
  }
  if (chart.bars.empty()) return std::nullopt;
  return chart;
}

IntervalChart::Bar effect_bar(const std::string& name, const Estimate& effect) { return {name, effect.low(), effect.mean, effect.high()}; }

IntervalChart attribution_chart(const Comparison& comparison, std::size_t rival, std::size_t metric) {
  const Attribution& attribution = comparison.attributions[rival];
  const std::string& label = metrics()[metric].label;
  IntervalChart chart{.title = "What moved " + label,
                      .caption = "Each key changed alone, with its 95 % interval; the rest is what keys do together beyond their sum. The parts add up to the whole.",
                      .value = {"change of " + label}, .middle = "mean change", .bars = {}};
  for (const KeyEffect& key : attribution.keys) {
    if (!key.effects.empty() && key.effects[metric]) chart.bars.push_back(effect_bar(key.key, *key.effects[metric]));
  }
  if (attribution.remainder[metric]) chart.bars.push_back(effect_bar("the rest", *attribution.remainder[metric]));
  chart.bars.push_back(effect_bar("all", *comparison.differences[rival][metric]));
  return chart;
}

Table attribution_table(const Comparison& comparison, std::size_t rival, const std::vector<std::size_t>& chosen) {
  const Attribution& attribution = comparison.attributions[rival];
  Table table{{"key changed alone"}, {}};
  for (const std::size_t m : chosen) table.head.push_back(metrics()[m].label);
  const auto row = [&](const std::string& name, const MetricEstimates& effects) {
    std::vector<std::string> cells{name};
    for (const std::size_t m : chosen) {
      const std::optional<Estimate> effect = effects.empty() ? std::nullopt : effects[m];
      const bool sure = effect && (effect->significant() || effect->half_width == 0);
      cells.push_back(!effect ? "-" : sure ? difference_text(*effect) : "(" + difference_text(*effect) + ")");
    }
    table.rows.push_back(std::move(cells));
  };
  for (const KeyEffect& key : attribution.keys) {
    row(key.obstacle.empty() ? change_text(key) : fmt::format("{} (can't be changed alone: {})", change_text(key), key.obstacle), key.effects);
  }
  row("the rest", attribution.remainder);
  row("all", comparison.differences[rival]);
  return table;
}

Section rival_section(const Comparison& comparison, std::size_t rival) {
  Section section{fmt::format("{} against {}", comparison.scenarios[rival].label, comparison.scenarios.front().label), {}};
  if (auto chart = differences_chart(comparison, rival)) section.blocks.push_back(std::move(*chart));
  section.blocks.push_back(differences_table(comparison, rival));
  return section;
}

Section attribution_section(const Comparison& comparison, std::size_t rival) {
  constexpr std::size_t most_charts = 4;
  Section section{"What moved it: " + comparison.scenarios[rival].label, {}};
  const std::vector<std::size_t> chosen = attributed_metrics(comparison, rival);
  for (std::size_t i = 0; i < std::min(most_charts, chosen.size()); ++i) section.blocks.push_back(attribution_chart(comparison, rival, chosen[i]));
  section.blocks.push_back(Paragraph{"In parentheses: no significant effect."});
  section.blocks.push_back(attribution_table(comparison, rival, chosen));
  return section;
}

// The figure that the comparison is about, for each side.
std::vector<Tile> tiles(const Comparison& comparison) {
  const std::size_t m = metric_index(comparison.metric);
  const Metric& metric = metrics()[m];
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < comparison.scenarios.size(); ++i) {
    Tile tile{fmt::format("{}: {}", comparison.scenarios[i].label, metric.label), cell(comparison.values[i][m]), "", Tile::Mood::plain};
    if (i > 0 && comparison.differences[i][m]) {
      const Estimate& difference = *comparison.differences[i][m];
      const std::string word = verdict(metric, difference);
      tile.note = fmt::format("{}: {}", difference_text(difference), word);
      tile.mood = word == "better" ? Tile::Mood::good : word == "worse" ? Tile::Mood::bad : Tile::Mood::plain;
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::vector<std::string> warnings(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const StudiedScenario& side : comparison.scenarios) {
    const auto saturated = std::count_if(side.runs.begin(), side.runs.end(), [](const RunResult& run) { return run.metrics.saturated; });
    if (saturated > 0 && !side.runs.front().metrics.saturated) {  // else it is among the first run's warnings
      all.push_back(fmt::format("{}: saturated in {} of {} replications; its latencies depend on how long the runs last", side.label, saturated, side.runs.size()));
    }
    for (const std::string& warning : run_warnings(side.scenario, side.runs.front())) all.push_back(side.label + ": " + warning);
  }
  return all;
}

}  // namespace

Page comparison_page(const Comparison& comparison) {
  std::string names;
  for (const StudiedScenario& side : comparison.scenarios) names += (names.empty() ? "" : " vs ") + side.label;
  Page page{.title = names, .subtitle = fmt::format("comparison of {} scenarios", comparison.scenarios.size()), .warnings = warnings(comparison), .sections = {}};
  page.sections.push_back({"Summary", {tiles(comparison), Paragraph{how_it_ran(comparison)}}});
  for (std::size_t rival = 1; rival < comparison.scenarios.size(); ++rival) {
    page.sections.push_back(rival_section(comparison, rival));
    if (!comparison.attributions[rival].keys.empty()) page.sections.push_back(attribution_section(comparison, rival));
  }
  Section scenarios{"Scenarios", {}};
  for (const StudiedScenario& side : comparison.scenarios) {
    scenarios.blocks.push_back(Verbatim{side.label + ": resolved scenario", to_json(side.scenario.resolved).dump(2)});
  }
  page.sections.push_back(std::move(scenarios));
  return page;
}

}  // namespace ridgeline::html
