#include "scenarios/plan/plan_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "scenarios/report/text.hpp"
#include "scenarios/report/version.hpp"

namespace ridgeline {

std::string with_interval(const Estimate& value) {
  return value.samples < 2 || value.half_width == 0 ? figure(value.mean) : fmt::format("{} ± {}", figure(value.mean), figure(value.half_width));
}

std::string slo_text(const Slo& slo) {
  if (slo.empty()) return "none";
  std::string text;
  const auto limit = [&](const char* name, const std::optional<Duration>& value) {
    if (value) text += fmt::format("{}{} <= {} ms", text.empty() ? "" : ", ", name, figure(value->milliseconds()));
  };
  limit("TTFT", slo.ttft), limit("TPOT", slo.tpot), limit("ITL", slo.itl), limit("E2EL", slo.e2el);
  if (slo.goodput_share) return text + fmt::format(" for {} of the requests", percent(*slo.goodput_share));
  return text + fmt::format(" at p{:.0f}", quoted_percentile(slo));
}

namespace {

std::string with_interval(const std::optional<Estimate>& value) { return value ? with_interval(*value) : "-"; }
std::string or_dash(const std::optional<double>& value) { return value ? figure(*value) : "-"; }

std::string range(double low, double high) { return low == high ? figure(low) : fmt::format("{}-{}", figure(low), figure(high)); }

std::string heading(const PlanResult& result) {
  return fmt::format("{}  (seed {}, {} replications)\n  {:<10} {}\n  {:<10} {}\n", result.name.empty() ? "plan" : result.name, result.seed,
                     result.replications, "workload", result.workload, "objective", slo_text(result.slo));
}

std::string tail_name(const PlanResult& result, const char* metric) { return fmt::format("{} p{:.0f}, ms", metric, quoted_percentile(result.slo)); }

// A long message without what it says in parentheses: the JSON has all of it.
std::string brief(const std::string& message) {
  const std::size_t open = message.find(" ("), close = message.rfind(')');
  const bool is_long = message.size() > 160 && open != std::string::npos && close != std::string::npos && close > open;
  return is_long ? message.substr(0, open) + message.substr(close + 1) : message;
}

std::string ruled_out_text(const std::vector<RuledOut>& ruled_out, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ruled_out.size()); ++i) {
    text += fmt::format("    {}: {}: {}\n", ruled_out[i].label, ruled_out[i].reason, brief(ruled_out[i].detail));
  }
  if (ruled_out.size() > most) text += fmt::format("    and {} more (all of them in the JSON)\n", ruled_out.size() - most);
  return text.empty() ? "" : "\n  ruled out before simulating:\n" + text;
}

std::string met_text(const FleetFigures& figures) {
  return figures.met == figures.replications ? "yes" : figures.met == 0 ? "no" : fmt::format("{} of {}", figures.met, figures.replications);
}

// Highest load ------------------------------------------------------------------------------------------------------

std::string answer_text(const PlanResult& result, const MaxRatePlan& plan) {
  std::string text = heading(result) + fmt::format("  {:<10} {}\n\n", "fleet", plan.fleet);
  if (!plan.load) {
    text += fmt::format("  no load meets the objective: {}\n", plan.limit);
    text += fmt::format("  one request alone: TTFT {} ms ({} prompt tokens), TPOT {} ms\n", figure(plan.alone.ttft.milliseconds()),
                        grouped(plan.demand.tail_input.count()), figure(plan.alone.tpot.milliseconds()));
    return text + fmt::format("\n  {} simulations\n", plan.simulations);
  }
  text += fmt::format("  highest load within the objective: {}", load_text(plan.demand.knob, plan.load->mean));
  if (plan.load->samples > 1) text += fmt::format(", 95 % interval {} to {}", figure(plan.load->low()), figure(plan.load->high()));
  text += plan.all_that_fits ? "\n  all that the KV memory keeps resident; the objective would allow more\n"
                             : fmt::format("\n  just above it: {}\n", plan.limit);
  if (plan.demand.knob != LoadKnob::max_concurrency && plan.bound < unbounded_capacity) {
    text += fmt::format("  step prices alone would allow at most {} (limited by {})\n",
                        load_text(plan.demand.knob, plan.bound), plan.alone.limited_by);
  }
  TextTable table;
  table.add({"load", "of the answer", "met", "TTFT p50, ms", tail_name(result, "TTFT"), tail_name(result, "TPOT"), "within SLO", "out tokens/s", "busy", "USD/M out"});
  for (const LoadPoint& point : plan.points) {
    const FleetFigures& figures = point.figures;
    table.add({figure(point.load), fmt::format("{:.0f} %", point.share * 100), met_text(figures), with_interval(figures.ttft_p50_ms), with_interval(figures.ttft_ms),
               with_interval(figures.tpot_ms), figures.slo_attainment ? percent(figures.slo_attainment->mean) : "-",
               figure(figures.output_throughput.mean), percent(figures.busy.mean),
               figures.usd_per_million_output_tokens ? figure(figures.usd_per_million_output_tokens->mean) : "-"});
  }
  text += "\n" + table.text("  ");
  return text + fmt::format("\n  {} simulations of {} requests\n", plan.simulations, grouped(plan.demand.requests));
}

// Cheapest fleet ----------------------------------------------------------------------------------------------------

std::string search_text(const CheapestFleetPlan& plan) {
  std::map<std::string, int> reasons;
  for (const RuledOut& one : plan.ruled_out) ++reasons[one.reason];
  std::string out;
  for (const auto& [reason, count] : reasons) out += fmt::format("{}{} by {}", out.empty() ? "" : ", ", count, reason);
  const SearchCounts& counts = plan.counts;
  std::string text = fmt::format("  {} configurations of a replica: {} ruled out{}\n", plan.configurations, plan.ruled_out.size(), out.empty() ? "" : " (" + out + ")");
  if (counts.points == 0) return text;
  text += fmt::format("  {} fleets of the rest: {} can't carry the load by their step prices, {} are dearer than those found or beyond a limit,\n  {} follow from a "
                      "smaller or larger fleet, {} simulated ({} runs of {} requests)\n",
                      grouped(counts.points), grouped(counts.capacity), grouped(counts.price), grouped(counts.order), grouped(counts.judged),
                      grouped(plan.simulations), grouped(plan.demand.requests));
  return text;
}

std::string fleet_table(const PlanResult& result, const CheapestFleetPlan& plan) {
  const bool spares = std::any_of(plan.rows.begin(), plan.rows.end(), [](const FleetRow& row) { return row.spares > 0; });
  const bool closed = plan.demand.knob == LoadKnob::max_concurrency;
  TextTable table;
  std::vector<std::string> head{"fleet", "GPUs", "USD/h", "USD/M out", "watts", "TTFT p50, ms", tail_name(result, "TTFT"), tail_name(result, "TPOT"), "within SLO", "busy"};
  if (spares) head.insert(head.begin() + 1, "spares");
  if (closed) head.insert(head.begin() + 1, {"KV holds", "TTFT alone, ms"});
  table.add(head);
  for (const FleetRow& row : plan.rows) {
    const FleetFigures& figures = row.figures;
    std::vector<std::string> cells{row.label, grouped(row.gpus), range(row.price_low, row.price_high), or_dash(row.usd_per_million_output_tokens), or_dash(row.watts),
                                   with_interval(figures.ttft_p50_ms), with_interval(figures.ttft_ms), with_interval(figures.tpot_ms),
                                   figures.slo_attainment ? percent(figures.slo_attainment->mean) : "-", percent(figures.busy.mean)};
    if (spares) cells.insert(cells.begin() + 1, fmt::format("+{}", row.spares));
    if (closed) cells.insert(cells.begin() + 1, {figure(row.held), figure(row.alone.ttft.milliseconds())});
    table.add(std::move(cells));
  }
  return table.text("  ");
}

// A limit that lies within the interval of what was measured: other days may miss it.
std::string close_calls(const Slo& slo, const FleetFigures& figures) {
  std::string text;
  const auto check = [&](const char* name, const std::optional<Duration>& limit, const std::optional<Estimate>& value) {
    if (!limit || !value || value->samples < 2 || value->high() <= limit->milliseconds()) return;
    text += fmt::format("  close call: {} p{:.0f} {} ms, limit {} ms\n", name, quoted_percentile(slo), with_interval(*value), figure(limit->milliseconds()));
  };
  if (slo.goodput_share) return "";
  check("TTFT", slo.ttft, figures.ttft_ms), check("TPOT", slo.tpot, figures.tpot_ms), check("E2EL", slo.e2el, figures.e2el_ms);
  return text;
}

std::string infeasible_text(const CheapestFleetPlan& plan) {
  // When every kind of replica is out for the same reason, that is the answer.
  std::string text = "  INFEASIBLE";
  const auto same = [&](const RuledOut& one) { return one.reason == plan.ruled_out.front().reason; };
  if (plan.counts.points == 0 && !plan.ruled_out.empty() && std::all_of(plan.ruled_out.begin(), plan.ruled_out.end(), same)) {
    text += plan.ruled_out.front().reason == "latency" ? fmt::format(" at any replica count: {}", plan.ruled_out.front().detail)
                                                       : fmt::format(": {}: {}", plan.ruled_out.front().reason, plan.ruled_out.front().detail);
  } else {
    text += ": no fleet of the candidates meets the objective";
  }
  text += "\n";
  if (!plan.advice.empty()) text += "  what would help:\n";
  for (const std::string& sentence : plan.advice) text += "    " + sentence + "\n";
  return text + "\n";
}

std::string answer_text(const PlanResult& result, const CheapestFleetPlan& plan) {
  std::string text = heading(result);
  if (!plan.demand.busiest.empty()) text += fmt::format("  {:<10} the busiest period, {}\n", "planned for", plan.demand.busiest);
  text += "\n";
  if (plan.rows.empty()) return text + infeasible_text(plan) + search_text(plan) + ruled_out_text(plan.ruled_out, 8);
  const FleetRow& best = plan.rows.front();
  text += fmt::format("  cheapest fleet: {}{}, {} USD/h\n", best.label, best.spares > 0 ? fmt::format(" and {} spare", best.spares) : "",
                      range(best.price_low, best.price_high));
  if (!best.smaller_fails.empty()) text += fmt::format("  one replica fewer: {}\n", best.smaller_fails);
  text += close_calls(result.slo, best.figures);
  if (plan.whole_workload) {
    const FleetFigures& whole = *plan.whole_workload;
    text += fmt::format("  over all of the workload: {} USD per million output tokens, {} W{}; {} of the requests within every limit, busy {}\n",
                        or_dash(plan.whole_usd_per_million), or_dash(plan.whole_watts), best.spares > 0 ? " (spares included)" : "",
                        whole.slo_attainment ? percent(whole.slo_attainment->mean) : "-", percent(whole.busy.mean));
  }
  text += "\n" + fleet_table(result, plan) + "\n";
  if (plan.rows.size() > 1 && plan.rows[1].price_low < best.price_high) {
    text += fmt::format("  the prices given overlap: {} may be the cheaper one\n", plan.rows[1].label);
  }
  return text + search_text(plan) + ruled_out_text(plan.ruled_out, 8);
}

// Pareto front ------------------------------------------------------------------------------------------------------

std::string front_table(const PlanResult& result, const ParetoPlan& plan) {
  TextTable table;
  table.add({"configuration", "in flight", "tok/s/user", "out tok/s/GPU", "all tok/s/GPU", "TTFT p50, ms", tail_name(result, "TTFT"), "USD/M out", "preempted", "front"});
  for (const ParetoPoint& point : plan.points) {
    table.add({point.label, grouped(point.concurrency), with_interval(point.tokens_per_user), with_interval(point.output_per_gpu), figure(point.total_per_gpu.mean),
               with_interval(point.figures.ttft_p50_ms), with_interval(point.figures.ttft_ms),
               point.usd_per_million_low ? range(*point.usd_per_million_low, *point.usd_per_million_high) : "-", grouped(point.figures.preemptions),
               point.front ? "*" : ""});
  }
  return table.text("  ");
}

// Where the lead changes hands as more requests are in flight.
std::string leads_text(const std::vector<ParetoLead>& leads) {
  std::string text;
  const auto add = [&](const char* what, std::string ParetoLead::*leader) {
    std::string line;
    for (std::size_t i = 0; i < leads.size(); ++i) {
      if (i > 0 && leads[i].*leader == leads[i - 1].*leader) continue;
      line += fmt::format("{}from {} in flight {}", line.empty() ? "" : ", ", leads[i].concurrency, leads[i].*leader);
    }
    text += fmt::format("  {}: {}\n", what, line);
  };
  if (leads.empty()) return "";
  add("most tokens/s/GPU", &ParetoLead::throughput);
  add("most tokens/s/user", &ParetoLead::latency);
  return text;
}

std::string answer_text(const PlanResult& result, const ParetoPlan& plan) {
  std::string text = heading(result) + "\n" + front_table(result, plan) + "\n  * on the front: no other point has both more tokens/s/GPU and more tokens/s/user\n" + leads_text(plan.leads);
  if (plan.recommended) {
    const ParetoPoint& point = plan.points[*plan.recommended];
    text += fmt::format("  recommended: {} with {} in flight: most tokens/s/GPU of the points that {}stay resident without preemption\n", point.label,
                        point.concurrency, result.slo.empty() ? "" : "meet the objective and ");
  } else {
    text += "  no point meets the objective and stays resident without preemption\n";
  }
  return text + fmt::format("  {} simulations\n", plan.simulations) + ruled_out_text(plan.ruled_out, 8);
}

}  // namespace

std::string plan_text(const PlanResult& result) {
  std::string text = std::visit([&](const auto& plan) { return answer_text(result, plan); }, result.answer);
  for (const std::string& note : result.notes) text += "  note: " + note + "\n";
  return text;
}

std::string chosen_yaml(const PlanResult& result) {
  if (!result.chosen) throw InternalError("a plan without a chosen scenario was to be written");
  return fmt::format("# Chosen by ridgeline plan {} (seed {}) for `{}`: {}, objective {}.\n", version(), result.seed, result.name, result.workload, slo_text(result.slo)) +
         result.chosen->to_yaml();
}

}  // namespace ridgeline
