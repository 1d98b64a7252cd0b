#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/report/run_explanation_report.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

struct Words {
  TimePart part;
  std::string_view text;
};

// Causes of the request's own step, in its own words.
constexpr Words own_causes[] = {{TimePart::weights, "reading weights"},       {TimePart::kv, "reading KV"},
                                {TimePart::activations, "moving activations"}, {TimePart::compute, "compute"},
                                {TimePart::communication, "communication"},   {TimePart::overhead, "fixed cost of kernels"},
                                {TimePart::host, "host"}};

constexpr Words others[] = {{TimePart::queue, "waiting in the queue"},     {TimePart::prefills, "other requests' prompts"},
                            {TimePart::decodes, "other requests' decodes"}, {TimePart::preempted, "preempted, waiting to come back"},
                            {TimePart::recomputation, "recomputing what a preemption threw away"}, {TimePart::swap, "swapping KV"},
                            {TimePart::idle, "idle engine"}};

}  // namespace

std::string part_words(TimePart part) {
  for (const auto& [known, text] : own_causes) {
    if (known == part) return std::string(text);
  }
  for (const auto& [known, text] : others) {
    if (known == part) return std::string(text);
  }
  throw InternalError("a part of a latency without words");
}

std::string resource_words(Resource resource) {
  switch (resource) {
    case Resource::memory_bandwidth: return "memory bandwidth";
    case Resource::compute: return "FLOP/s (clock)";
    case Resource::link_bandwidth: return "link bandwidth";
    case Resource::memory_capacity: return "memory capacity";
    case Resource::host_time: return "host time a step";
    case Resource::acceptance: return "draft acceptance";
  }
  return "";
}

std::string shift_text(const std::optional<Shift>& shift, std::optional<double> unchanged, bool intervals) {
  if (!shift || !unchanged) return "-";
  if (shift->difference.mean == 0) return "0";
  if (*unchanged == 0) return fmt::format("{}{}", shift->difference.mean > 0 ? "+" : "", figure(shift->difference.mean));
  const std::string text = fmt::format("{:+.2f} %", shift->relative * 100);
  if (!intervals) return text;
  if (!shift->difference.significant()) return text + " (n.s.)";
  return text + fmt::format(" \u00b1 {:.2f}", std::abs(shift->difference.half_width / *unchanged) * 100);
}

namespace {

struct Share {
  double share = 0.0;
  std::string text;
};

std::string joined(std::vector<Share> shares) {
  constexpr double least = 0.01;  // worth a word
  std::erase_if(shares, [](const Share& s) { return s.share < least; });
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.share > b.share; });
  std::string text;
  for (const Share& s : shares) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", percent(s.share), s.text);
  return text;
}

std::string milliseconds(Duration time) { return figure(time.milliseconds()) + " ms"; }

std::string line(const std::string& name, const TimeParts& parts, bool of_ttft) {
  return fmt::format("  {:<22} {}: {}\n", name, milliseconds(parts.total()), parts_text(parts, of_ttft));
}

std::string group_text(const std::string& name, const RequestGroup& group) {
  if (group.requests == 0) return "";
  std::string text = fmt::format("\n{} ({} request{})\n", name, grouped(group.requests), group.requests == 1 ? "" : "s");
  text += line("TTFT mean", group.ttft, true);
  if (group.decoding > 0) text += line("TPOT mean", group.tpot, false);
  return text;
}

std::string breakdown_text(const Breakdown& breakdown) {
  std::string text = fmt::format("where the time went ({} requests; the parts sum to the latency)\n", grouped(breakdown.all.requests));
  text += line("TTFT mean", breakdown.all.ttft, true);
  text += line("TTFT p50", breakdown.ttft_p50, true);
  text += line("TTFT p99", breakdown.ttft_p99, true);
  if (breakdown.all.decoding > 0) {
    text += line("TPOT mean", breakdown.all.tpot, false);
    text += line("TPOT p50", breakdown.tpot_p50, false);
    text += line("TPOT p99", breakdown.tpot_p99, false);
  }
  for (const NamedGroup& pool : breakdown.pools) text += group_text("pool " + pool.name, pool.group);
  if (breakdown.missed) {
    text += breakdown.missed->requests > 0 ? group_text("requests that missed the SLO", *breakdown.missed) : "\nno request missed the SLO\n";
  }
  return text;
}

std::string sensitivity_text(const Sensitivity& sensitivity) {
  const bool intervals = sensitivity.replications > 1 && sensitivity.seeds_matter;
  std::string text = fmt::format("\nwhat {} more of each resource would change ({} seed{}, the same requests each{})\n", percent(sensitivity.factor - 1),
                                 sensitivity.replications, sensitivity.replications == 1 ? "" : "s",
                                 intervals ? "; \u00b1 95 % interval, n.s. = not significant" : "");
  TextTable table;
  std::vector<std::string> head{""}, base{"as it is"};
  for (std::size_t i = 0; i < sensitivity.metrics.size(); ++i) {
    head.push_back(sensitivity.metrics[i]->label);
    base.push_back(sensitivity.unchanged[i] ? figure(*sensitivity.unchanged[i]) : "-");
  }
  table.add(head);
  table.add(base);
  std::string failures;
  for (const SensitivityRow& row : sensitivity.rows) {
    if (!row.failure.empty()) {
      failures += fmt::format("  {}: {}\n", resource_words(row.resource), row.failure);
      continue;
    }
    std::vector<std::string> cells{resource_words(row.resource)};
    for (std::size_t i = 0; i < row.shifts.size(); ++i) cells.push_back(shift_text(row.shifts[i], sensitivity.unchanged[i], intervals));
    table.add(std::move(cells));
  }
  text += table.text("  ") + failures;
  if (!sensitivity.seeds_matter) text += "  the workload is the same under every seed: changes are exact for it, and say nothing of other days\n";
  for (const std::string& note : sensitivity.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace

std::string parts_text(const TimeParts& parts, bool of_ttft) {
  const double whole = parts.total().as_double();
  if (whole <= 0) return "nothing";
  std::vector<Share> causes, shares;
  double own = 0;
  for (const auto& [part, words] : own_causes) {
    const double share = parts[part].as_double() / whole;
    own += share;
    causes.push_back({share, std::string(words)});
  }
  // Its own prompt is one thing to a reader; while decoding the causes are what matters.
  if (of_ttft) shares.push_back({own, "its own prompt (" + joined(causes) + ")"});
  else shares = causes;
  for (const auto& [part, words] : others) shares.push_back({parts[part].as_double() / whole, std::string(words)});
  return joined(std::move(shares));
}

std::string uncertainty_text(const Uncertainty& uncertainty) {
  if (uncertainty.prices.empty()) return "\nhow sure this is: the scenario states the time of a step, so no price is uncertain\n";
  std::string text = fmt::format("\nhow sure this is ({} draws of the operators' prices, off by what their calibrations miss by)\n", uncertainty.draws);
  TextTable table;
  table.add({"", "as priced", "5 %", "median", "95 %"});
  for (const UncertainFigure& f : uncertainty.figures) {
    table.add({f.metric->label, figure(f.unchanged), figure(f.low), figure(f.median), figure(f.high)});
  }
  text += table.text("  ");
  std::string prices;
  for (const UncertainPrice& price : uncertainty.prices) {
    prices += fmt::format("{}{} {} ({})", prices.empty() ? "" : ", ", price.family, percent(price.error), price.gpu);
  }
  text += "  expected errors: " + prices + "\n";
  for (const std::string& warning : uncertainty.warnings) text += "  WARNING: " + warning + "\n";
  return text;
}

std::string run_explanation_text(const RunExplanation& explanation) {
  std::string text = explanation.label.empty() ? "" : explanation.label + ": ";
  text += breakdown_text(explanation.breakdown);
  if (explanation.result.metrics.saturated) {
    text += "\n  SATURATED: the queue still grew at the end; its share grows with the length of the run.\n";
  }
  if (explanation.sensitivity) text += sensitivity_text(*explanation.sensitivity);
  if (explanation.uncertainty) text += uncertainty_text(*explanation.uncertainty);
  return text;
}

}  // namespace ridgeline
