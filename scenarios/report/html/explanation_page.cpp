#include "scenarios/report/html/explanation_page.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/report/run_explanation_report.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline::html {

namespace {

std::string named(const RunExplanation& explanation, const std::string& what) {
  return explanation.label.empty() ? what : explanation.label + ": " + what;
}

using NamedParts = std::vector<std::pair<std::string, TimeParts>>;

// A bar per group of requests, stacked from the parts that can be seen; what is below one per cent of every bar goes together.
BarChart parts_chart(const std::string& title, const NamedParts& bars) {
  constexpr double least = 0.01;
  BarChart chart{.title = title, .caption = "Each bar is a latency taken apart; its parts add up to it. The longest part is what to work on.",
                 .value = {"ms"}, .categories = {}, .series = {}, .horizontal = true, .stacked = true};
  std::vector<double> small(bars.size(), 0.0);
  for (const auto& [name, parts] : bars) chart.categories.push_back(name);
  for (std::size_t p = 0; p < time_part_count; ++p) {
    const TimePart part{static_cast<std::uint8_t>(p)};
    std::vector<double> values;
    for (const auto& [name, parts] : bars) values.push_back(parts[part].milliseconds());
    const bool seen = std::any_of(bars.begin(), bars.end(), [&](const auto& bar) {
      return bar.second[part].as_double() > least * bar.second.total().as_double();
    });
    if (seen) chart.series.emplace_back(part_words(part), std::move(values));
    else std::transform(small.begin(), small.end(), values.begin(), small.begin(), std::plus<>());
  }
  if (std::any_of(small.begin(), small.end(), [](double ms) { return ms > 0; })) chart.series.emplace_back("all else", std::move(small));
  return chart;
}

Section time_section(const RunExplanation& explanation) {
  const Breakdown& breakdown = explanation.breakdown;
  NamedParts ttft{{"mean", breakdown.all.ttft}, {"p50", breakdown.ttft_p50}, {"p99", breakdown.ttft_p99}};
  NamedParts tpot{{"mean", breakdown.all.tpot}, {"p50", breakdown.tpot_p50}, {"p99", breakdown.tpot_p99}};
  const auto add_group = [&](const std::string& name, const RequestGroup& group) {
    if (group.requests > 0) ttft.emplace_back(name, group.ttft);
    if (group.decoding > 0) tpot.emplace_back(name, group.tpot);
  };
  for (const NamedGroup& pool : breakdown.pools) add_group("pool " + pool.name, pool.group);
  if (breakdown.missed) add_group("missed the SLO", *breakdown.missed);
  Section section{named(explanation, "where the time went"), {}};
  const std::string missed = !breakdown.missed ? "" : breakdown.missed->requests == 0 ? " None missed the SLO."
                             : fmt::format(" {} missed the SLO.", grouped(breakdown.missed->requests));
  section.blocks.push_back(Paragraph{fmt::format("{} requests.{}", grouped(breakdown.all.requests), missed)});
  section.blocks.push_back(parts_chart("TTFT, time to first token", ttft));
  if (breakdown.all.decoding > 0) section.blocks.push_back(parts_chart("TPOT, time per output token", tpot));
  Table words{{"latency", "total", "largest parts first"}, {}};
  for (const auto& [name, parts] : ttft) words.rows.push_back({"TTFT " + name, figure(parts.total().milliseconds()) + " ms", parts_text(parts, true)});
  if (breakdown.all.decoding > 0) {
    for (const auto& [name, parts] : tpot) words.rows.push_back({"TPOT " + name, figure(parts.total().milliseconds()) + " ms", parts_text(parts, false)});
  }
  section.blocks.push_back(std::move(words));
  return section;
}

// The longest bar on top. Nullopt where no resource moves the figure.
std::optional<BarChart> tornado(const Sensitivity& sensitivity, std::size_t metric) {
  const std::string& label = sensitivity.metrics[metric]->label;
  std::vector<std::pair<std::string, double>> bars;
  for (const SensitivityRow& row : sensitivity.rows) {
    if (!row.failure.empty() || !row.shifts[metric]) continue;
    const Shift& shift = *row.shifts[metric];
    const bool unsure = sensitivity.seeds_matter && sensitivity.replications > 1 && shift.difference.mean != 0 && !shift.difference.significant();
    bars.emplace_back(resource_words(row.resource) + (unsure ? " (not significant)" : ""), 100 * shift.relative);
  }
  if (std::all_of(bars.begin(), bars.end(), [](const auto& bar) { return bar.second == 0; })) return std::nullopt;
  std::stable_sort(bars.begin(), bars.end(), [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  BarChart chart{.title = "Tornado: " + label, .caption = fmt::format("Change when a resource alone grows by {}; the one that matters most on top.", percent(sensitivity.factor - 1)),
                 .value = {"change, %"}, .categories = {}, .series = {{label, {}}}, .horizontal = true};
  for (const auto& [name, change] : bars) {
    chart.categories.push_back(name);
    chart.series.front().second.push_back(change);
  }
  return chart;
}

Section sensitivity_section(const RunExplanation& explanation) {
  const Sensitivity& sensitivity = *explanation.sensitivity;
  Section section{named(explanation, fmt::format("what {} more of each resource would change", percent(sensitivity.factor - 1))), {}};
  for (std::size_t m = 0; m < sensitivity.metrics.size(); ++m) {
    if (auto chart = tornado(sensitivity, m)) section.blocks.push_back(std::move(*chart));
  }
  Table table{{"resource"}, {{"as it is"}}};
  for (std::size_t m = 0; m < sensitivity.metrics.size(); ++m) {
    table.head.push_back(sensitivity.metrics[m]->label);
    table.rows.front().push_back(sensitivity.unchanged[m] ? figure(*sensitivity.unchanged[m]) : "-");
  }
  const bool intervals = sensitivity.replications > 1 && sensitivity.seeds_matter;
  for (const SensitivityRow& row : sensitivity.rows) {
    if (!row.failure.empty()) {
      section.blocks.push_back(Paragraph{resource_words(row.resource) + ": " + row.failure});
      continue;
    }
    std::vector<std::string> cells{resource_words(row.resource)};
    for (std::size_t m = 0; m < row.shifts.size(); ++m) cells.push_back(shift_text(row.shifts[m], sensitivity.unchanged[m], intervals));
    table.rows.push_back(std::move(cells));
  }
  section.blocks.push_back(std::move(table));
  section.blocks.push_back(Paragraph{fmt::format("{} seed{}, the same requests for each change{}.", sensitivity.replications, sensitivity.replications == 1 ? "" : "s",
                                                 intervals ? "; \u00b1 is the 95 % interval, n.s. not significant" : "")});
  for (const std::string& note : sensitivity.notes) section.blocks.push_back(Paragraph{note});
  return section;
}

Section uncertainty_section(const RunExplanation& explanation) {
  const Uncertainty& uncertainty = *explanation.uncertainty;
  Section section{named(explanation, "how sure this is"), {}};
  if (uncertainty.prices.empty()) {
    section.blocks.push_back(Paragraph{"The scenario states the time of a step, so no price is uncertain."});
    return section;
  }
  IntervalChart chart{.title = "Figures under uncertain prices",
                      .caption = fmt::format("Median and 5th to 95th percentile of {} draws of the operators' prices, against the figure as priced.", uncertainty.draws),
                      .value = {"difference from the figure as priced, %"}, .middle = "median", .bars = {}};
  Table table{{"figure", "as priced", "5 %", "median", "95 %"}, {}};
  for (const UncertainFigure& f : uncertainty.figures) {
    table.rows.push_back({f.metric->label, figure(f.unchanged), figure(f.low), figure(f.median), figure(f.high)});
    const auto share = [&](double value) { return 100 * (value / f.unchanged - 1); };
    if (f.unchanged != 0) chart.bars.push_back({f.metric->label, share(f.low), share(f.median), share(f.high)});
  }
  if (!chart.bars.empty()) section.blocks.push_back(std::move(chart));
  section.blocks.push_back(std::move(table));
  Table prices{{"price", "of", "expected error"}, {}};
  for (const UncertainPrice& price : uncertainty.prices) prices.rows.push_back({price.family, price.gpu, percent(price.error)});
  section.blocks.push_back(std::move(prices));
  return section;
}

}  // namespace

Page explanation_page(const std::vector<RunExplanation>& explanations) {
  const Scenario& first = explanations.front().scenario;
  Page page{.title = first.name.empty() ? "ridgeline explain" : first.name, .subtitle = fmt::format("explanation, seed {}", first.seed), .warnings = {}, .sections = {}};
  for (const RunExplanation& explanation : explanations) {
    for (const std::string& warning : run_warnings(explanation.scenario, explanation.result)) page.warnings.push_back(named(explanation, warning));
    page.sections.push_back(time_section(explanation));
    if (explanation.sensitivity) page.sections.push_back(sensitivity_section(explanation));
    if (!explanation.uncertainty) continue;
    for (const std::string& warning : explanation.uncertainty->warnings) page.warnings.push_back(named(explanation, warning));
    page.sections.push_back(uncertainty_section(explanation));
  }
  return page;
}

}  // namespace ridgeline::html
