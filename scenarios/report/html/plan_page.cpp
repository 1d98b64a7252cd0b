#include "scenarios/report/html/plan_page.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "scenarios/plan/plan_text.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline::html {

namespace {

std::string cell(const std::optional<Estimate>& value) { return value ? with_interval(*value) : "-"; }
std::string cell(const std::optional<double>& value) { return value ? figure(*value) : "-"; }
std::string share(const std::optional<Estimate>& value) { return value ? percent(value->mean) : "-"; }
std::string tail(const PlanResult& result, const char* metric) { return fmt::format("{} p{:.0f}, ms", metric, quoted_percentile(result.slo)); }

std::vector<Block> ruled_out(const std::vector<RuledOut>& list) {
  if (list.empty()) return {};
  Table table{{"ruled out before simulating", "by", "why"}, {}};
  for (const RuledOut& one : list) table.rows.push_back({one.label, one.reason, one.detail});
  return {std::move(table)};
}

void add(Section& section, std::vector<Block> blocks) {
  for (Block& block : blocks) section.blocks.push_back(std::move(block));
}

// Highest load ------------------------------------------------------------------------------------------------------

std::string load_axis(LoadKnob knob) {
  switch (knob) {
    case LoadKnob::request_rate: return "requests/s offered";
    case LoadKnob::rate_factor: return "load, x the scenario's rates";
    case LoadKnob::max_concurrency: return "requests in flight";
  }
  throw InternalError("a load knob of an unknown kind");
}

// The answer as upright lines across the chart: the knee and the ends of its interval.
void add_knee(LineChart& chart, const MaxRatePlan& plan) {
  double top = 0;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) top = std::max(top, point.y);
  }
  const auto upright = [&](const std::string& name, double x) {
    chart.series.push_back({name, {{x, 0, ""}, {x, top, ""}}, Series::Style::dashed});
  };
  upright("knee", plan.load->mean);
  if (plan.load->samples < 2 || plan.load->half_width == 0) return;
  upright("95 % interval, low", plan.load->low());
  upright("95 % interval, high", plan.load->high());
}

LineChart over_load(const MaxRatePlan& plan, const std::string& title, const std::string& caption,
                    const std::function<std::optional<double>(const FleetFigures&)>& value) {
  LineChart chart{.title = title, .caption = caption, .x = {load_axis(plan.demand.knob)}, .y = {title}, .series = {{title, {}, Series::Style::trail}}};
  for (const LoadPoint& point : plan.points) {
    if (const auto y = value(point.figures)) chart.series.front().points.push_back({point.load, *y, fmt::format("{:.0f} % of the answer", 100 * point.share)});
  }
  return chart;
}

std::optional<double> mean(const std::optional<Estimate>& value) { return value ? std::optional(value->mean) : std::nullopt; }

double good_requests(const FleetFigures& figures) {
  return figures.request_throughput.mean * (figures.slo_attainment ? figures.slo_attainment->mean : 1.0);
}

void add_latency(Section& section, const PlanResult& result, const MaxRatePlan& plan, const char* metric, const std::optional<Duration>& limit,
                 std::optional<Estimate> FleetFigures::*figure) {
  LineChart chart = over_load(plan, tail(result, metric), "The latency that the objective limits, over the load.",
                              [&](const FleetFigures& figures) { return mean(figures.*figure); });
  if (chart.series.front().points.empty()) return;
  const std::vector<Point> points = chart.series.front().points;
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  if (limit) chart.series.push_back({"limit", {{least->x, limit->milliseconds(), ""}, {most->x, limit->milliseconds(), ""}}, Series::Style::dashed});
  add_knee(chart, plan);
  section.blocks.push_back(std::move(chart));
}

Table loads_table(const PlanResult& result, const MaxRatePlan& plan) {
  Table table{{"load", "of the answer", "met", "TTFT p50, ms", tail(result, "TTFT"), tail(result, "TPOT"), "within SLO", "output tokens/s", "busy", "USD per M output tokens"}, {}};
  for (const LoadPoint& point : plan.points) {
    const FleetFigures& f = point.figures;
    table.rows.push_back({figure(point.load), fmt::format("{:.0f} %", point.share * 100), fmt::format("{} of {}", f.met, f.replications), cell(f.ttft_p50_ms),
                          cell(f.ttft_ms), cell(f.tpot_ms), share(f.slo_attainment), figure(f.output_throughput.mean), percent(f.busy.mean),
                          f.usd_per_million_output_tokens ? figure(f.usd_per_million_output_tokens->mean) : "-"});
  }
  return table;
}

std::vector<Section> answer(const PlanResult& result, const MaxRatePlan& plan) {
  Section section{"Highest load", {}};
  if (!plan.load) {
    section.blocks.push_back(std::vector<Tile>{{"highest load within the objective", "none", plan.limit, Tile::Mood::bad},
                                               {"one request alone", figure(plan.alone.ttft.milliseconds()) + " ms TTFT",
                                                figure(plan.alone.tpot.milliseconds()) + " ms TPOT", Tile::Mood::plain}});
    return {std::move(section)};
  }
  const bool interval = plan.load->samples > 1;
  std::vector<Tile> tiles{{"highest load within the objective", load_text(plan.demand.knob, plan.load->mean),
                           interval ? fmt::format("95 % interval {} to {}", figure(plan.load->low()), figure(plan.load->high())) : "", Tile::Mood::good}};
  tiles.push_back({"just above it", plan.all_that_fits ? "KV memory is full" : plan.limit, plan.fleet});
  if (plan.demand.knob != LoadKnob::max_concurrency && plan.bound < unbounded_capacity) {
    tiles.push_back({"step prices alone allow at most", load_text(plan.demand.knob, plan.bound), "limited by " + plan.alone.limited_by});
  }
  tiles.push_back({"simulations", grouped(plan.simulations), fmt::format("of {} requests", grouped(plan.demand.requests))});
  section.blocks.push_back(std::move(tiles));
  LineChart goodput = over_load(plan, result.slo.empty() ? "requests/s" : "good requests/s",
                                "Requests a second within every limit of the SLO. Beyond the knee more load gives latencies that miss it.",
                                [](const FleetFigures& figures) { return std::optional(good_requests(figures)); });
  add_knee(goodput, plan);
  section.blocks.push_back(std::move(goodput));
  add_latency(section, result, plan, "TTFT", result.slo.ttft, &FleetFigures::ttft_ms);
  add_latency(section, result, plan, "TPOT", result.slo.tpot, &FleetFigures::tpot_ms);
  section.blocks.push_back(loads_table(result, plan));
  return {std::move(section)};
}

// Cheapest fleet ----------------------------------------------------------------------------------------------------

std::string price(const FleetRow& row) {
  return row.price_low == row.price_high ? figure(row.price) : fmt::format("{}-{}", figure(row.price_low), figure(row.price_high));
}

BarChart fleet_bars(const CheapestFleetPlan& plan, const std::string& title, const std::string& caption, const std::string& unit,
                    const std::function<double(const FleetRow&)>& value) {
  BarChart chart{.title = title, .caption = caption, .value = {unit}, .categories = {}, .series = {{unit, {}}}, .horizontal = true};
  for (const FleetRow& row : plan.rows) {
    chart.categories.push_back(row.label);
    chart.series.front().second.push_back(value(row));
  }
  return chart;
}

BarChart search_bars(const CheapestFleetPlan& plan) {
  const SearchCounts& counts = plan.counts;
  BarChart chart{.title = "How the fleets were decided",
                 .caption = fmt::format("Of {} fleets only {} were simulated ({} runs); bounds and comparisons decided the others.",
                                        grouped(counts.points + plan.ruled_out_points), grouped(counts.judged), grouped(plan.simulations)),
                 .value = {"fleets"}, .categories = {}, .series = {{"fleets", {}}}, .horizontal = true};
  const auto bar = [&](const char* name, std::int64_t count) {
    chart.categories.emplace_back(name);
    chart.series.front().second.push_back(static_cast<double>(count));
  };
  bar("replica ruled out", plan.ruled_out_points);
  bar("can't carry the load", counts.capacity);
  bar("dearer than those found", counts.price);
  bar("follows from another", counts.order);
  bar("simulated", counts.judged);
  return chart;
}

Table fleets_table(const PlanResult& result, const CheapestFleetPlan& plan) {
  Table table{{"fleet", "replicas", "spares", "GPUs", "USD/h", "USD per M output tokens", "watts", "TTFT p50, ms", tail(result, "TTFT"), tail(result, "TPOT"),
               "within SLO", "busy", "one replica fewer"}, {}};
  for (const FleetRow& row : plan.rows) {
    const FleetFigures& f = row.figures;
    table.rows.push_back({row.label, grouped(row.replicas), fmt::format("+{}", row.spares), grouped(row.gpus), price(row), cell(row.usd_per_million_output_tokens),
                          cell(row.watts), cell(f.ttft_p50_ms), cell(f.ttft_ms), cell(f.tpot_ms), share(f.slo_attainment), percent(f.busy.mean),
                          row.smaller_fails.empty() ? "-" : row.smaller_fails});
  }
  return table;
}

std::vector<Tile> fleet_tiles(const CheapestFleetPlan& plan) {
  const FleetRow& best = plan.rows.front();
  std::vector<Tile> tiles{{"cheapest fleet", best.label, best.spares > 0 ? fmt::format("and {} spare", best.spares) : "no spares", Tile::Mood::good},
                          {"USD per hour", price(best), "spares included"}};
  const auto dollars = plan.whole_workload ? plan.whole_usd_per_million : best.usd_per_million_output_tokens;
  const auto watts = plan.whole_workload ? plan.whole_watts : best.watts;
  const std::string period = plan.whole_workload ? "over all of the workload" : "in the planned period";
  if (dollars) tiles.push_back({"USD per million output tokens", figure(*dollars), period});
  if (watts) tiles.push_back({"watts", figure(*watts), period});
  return tiles;
}

std::vector<Section> answer(const PlanResult& result, const CheapestFleetPlan& plan) {
  Section fleets{"Cheapest fleet", {}};
  if (!plan.demand.busiest.empty()) fleets.blocks.push_back(Paragraph{"Planned for the busiest period, " + plan.demand.busiest + "."});
  if (plan.rows.empty()) {
    fleets.blocks.push_back(std::vector<Tile>{{"cheapest fleet", "infeasible", "no fleet of the candidates meets the objective", Tile::Mood::bad}});
    for (const std::string& sentence : plan.advice) fleets.blocks.push_back(Paragraph{"What would help: " + sentence});
  } else {
    fleets.blocks.push_back(fleet_tiles(plan));
    fleets.blocks.push_back(fleet_bars(plan, "Price of the fleets", "The cheapest fleet of each kind that meets the objective, spares included: lower is better.", "USD/h",
                                       [](const FleetRow& row) { return row.price; }));
    const auto any = [&](std::optional<double> FleetRow::*figure) {
      return std::any_of(plan.rows.begin(), plan.rows.end(), [&](const FleetRow& row) { return (row.*figure).has_value(); });
    };
    if (any(&FleetRow::usd_per_million_output_tokens)) {
      fleets.blocks.push_back(fleet_bars(plan, "Price of output", "In the planned period, spares included.", "USD per million output tokens",
                                         [](const FleetRow& row) { return row.usd_per_million_output_tokens.value_or(std::nan("")); }));
    }
    if (any(&FleetRow::watts)) {
      fleets.blocks.push_back(fleet_bars(plan, "Power", "Of all GPUs in the planned period, spares idle.", "W",
                                         [](const FleetRow& row) { return row.watts.value_or(std::nan("")); }));
    }
    fleets.blocks.push_back(fleets_table(result, plan));
  }
  Section search{"Search", {}};
  search.blocks.push_back(Paragraph{fmt::format("{} kinds of replicas were tried; {} can't serve and were ruled out before simulating.", plan.configurations,
                                                plan.ruled_out.size())});
  if (plan.counts.points + plan.ruled_out_points > 0) search.blocks.push_back(search_bars(plan));
  add(search, ruled_out(plan.ruled_out));
  return {std::move(fleets), std::move(search)};
}

// Pareto front ------------------------------------------------------------------------------------------------------

LineChart pareto_chart(const ParetoPlan& plan) {
  LineChart chart{.title = "Tokens/s/GPU against tokens/s/user",
                  .caption = "Upper right is better; along a line more requests are in flight. On the front no other point is better in both.",
                  .x = {"output tokens/s/user"}, .y = {"output tokens/s/GPU"}, .series = {}};
  Series front{.name = "front", .points = {}, .style = Series::Style::dashed};
  for (const ParetoPoint& point : plan.points) {
    if (chart.series.empty() || chart.series.back().name != point.label) chart.series.push_back({point.label, {}, Series::Style::trail});
    chart.series.back().points.push_back({point.tokens_per_user.mean, point.output_per_gpu.mean, fmt::format("{} in flight", point.concurrency)});
    if (point.front) front.points.push_back({point.tokens_per_user.mean, point.output_per_gpu.mean, ""});
  }
  std::stable_sort(front.points.begin(), front.points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  chart.series.push_back(std::move(front));
  return chart;
}

Table pareto_table(const PlanResult& result, const ParetoPlan& plan) {
  Table table{{"configuration", "GPUs", "in flight", "tokens/s/user", "output tokens/s/GPU", "all tokens/s/GPU", "TTFT p50, ms", tail(result, "TTFT"),
               "USD per M output tokens", "preemptions", "front"}, {}};
  for (const ParetoPoint& point : plan.points) {
    const auto low = point.usd_per_million_low, high = point.usd_per_million_high;
    table.rows.push_back({point.label, grouped(point.gpus), grouped(point.concurrency), with_interval(point.tokens_per_user), with_interval(point.output_per_gpu),
                          figure(point.total_per_gpu.mean), cell(point.figures.ttft_p50_ms), cell(point.figures.ttft_ms),
                          low && high && *low != *high ? fmt::format("{}-{}", figure(*low), figure(*high)) : cell(low), grouped(point.figures.preemptions),
                          point.front ? "yes" : ""});
  }
  return table;
}

std::vector<Section> answer(const PlanResult& result, const ParetoPlan& plan) {
  Section section{"Pareto front", {}};
  const std::string rule = result.slo.empty() ? "stays resident without preemption" : "meets the objective and stays resident without preemption";
  if (plan.recommended) {
    const ParetoPoint& best = plan.points[*plan.recommended];
    section.blocks.push_back(std::vector<Tile>{{"recommended", best.label, fmt::format("{} in flight; {}", best.concurrency, rule), Tile::Mood::good},
                                               {"output tokens/s/GPU", figure(best.output_per_gpu.mean), "the most of these points"},
                                               {"output tokens/s/user", figure(best.tokens_per_user.mean), "1 / median TPOT"}});
  } else {
    section.blocks.push_back(std::vector<Tile>{{"recommended", "none", "no point " + rule, Tile::Mood::bad}});
  }
  section.blocks.push_back(pareto_chart(plan));
  section.blocks.push_back(pareto_table(result, plan));
  if (!plan.leads.empty()) {
    Table leads{{"in flight", "most tokens/s/GPU", "most tokens/s/user"}, {}};
    for (const ParetoLead& lead : plan.leads) leads.rows.push_back({grouped(lead.concurrency), lead.throughput, lead.latency});
    section.blocks.push_back(std::move(leads));
  }
  section.blocks.push_back(Paragraph{fmt::format("{} simulations.", grouped(plan.simulations))});
  add(section, ruled_out(plan.ruled_out));
  return {std::move(section)};
}

}  // namespace

Page plan_page(const PlanResult& result) {
  Page page{.title = result.name.empty() ? "ridgeline plan" : result.name,
            .subtitle = fmt::format("plan, seed {}, {} replications; objective: {}; {}", result.seed, result.replications, slo_text(result.slo), result.workload),
            .warnings = {}, .sections = {}};
  for (const Diagnostic& warning : result.warnings) page.warnings.push_back(to_string(warning));
  page.sections = std::visit([&](const auto& plan) { return answer(result, plan); }, result.answer);
  Section scenario{"Scenario", {}};
  for (const std::string& note : result.notes) scenario.blocks.push_back(Paragraph{"Assumed: " + note});
  if (result.chosen) {
    scenario.blocks.push_back(Paragraph{"The chosen scenario, ready to `ridgeline run`."});
    scenario.blocks.push_back(Verbatim{"chosen scenario", chosen_yaml(result)});
  }
  if (!scenario.blocks.empty()) page.sections.push_back(std::move(scenario));
  return page;
}

}  // namespace ridgeline::html
