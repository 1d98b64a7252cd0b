#include "scenarios/report/html/sweep_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "scenarios/report/html/sweep_curves.hpp"
#include "scenarios/report/sweep_csv.hpp"
#include "scenarios/report/text.hpp"
#include "scenarios/study/metric.hpp"

namespace ridgeline::html {

namespace {

// A figure of a point; NaN where it has none.
using Figure = std::function<double(const SweepRow&)>;

double value_of(const SweepRow& row, std::string_view metric) {
  if (row.outcome.metrics.empty()) return std::nan("");
  return row.outcome.metrics[metric_index(metric)].value_or(std::nan(""));
}
Figure metric_figure(std::string_view metric) {
  return [metric](const SweepRow& row) { return value_of(row, metric); };
}

double tokens_per_user(const SweepRow& row) { return 1000 / value_of(row, "p50_tpot_ms"); }
double tokens_per_gpu(const SweepRow& row) { return value_of(row, "output_throughput") / value_of(row, "gpus"); }

// "h100, max_num_seqs 64": labels have whole paths, which leave no room for bars.
std::string short_name(const SweepTable& table, const SweepRow& row) {
  std::string name;
  for (std::size_t i = 0; i < table.axes.size(); ++i) {
    const std::string& path = table.axes[i];
    name += (name.empty() ? "" : ", ") + (path == "alternative" ? "" : path.substr(path.rfind('.') + 1) + " ") + row.values[i];
  }
  return name.empty() ? "scenario" : name;
}

// A saturated point's latency would flatten all others.
bool spans(double factor, const std::vector<Series>& series, double Point::*coordinate) {
  double least = INFINITY, most = 0;
  for (const Series& one : series) {
    for (const Point& point : one.points) {
      if (point.*coordinate <= 0) return false;
      least = std::min(least, point.*coordinate);
      most = std::max(most, point.*coordinate);
    }
  }
  return most > factor * least;
}

bool has_points(const LineChart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(), [](const Series& series) { return !series.points.empty(); });
}

std::vector<Series> curves_of(const SweepTable& table, const SweepCurves& curves, const Figure& x, const Figure& y) {
  std::vector<Series> all;
  for (const SweepCurves::Curve& curve : curves.curves) {
    Series series{.name = curve.name, .points = {}, .style = curves.axis ? Series::Style::trail : Series::Style::points};
    for (const auto& [index, along] : curve.rows) {
      const SweepRow& row = table.rows[index];
      const Point point{x(row), y(row), curves.axis ? fmt::format("{} {}", table.axes[*curves.axis], row.values[*curves.axis]) : row.label};
      if (std::isfinite(point.x) && std::isfinite(point.y)) series.points.push_back(point);
    }
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  return all;
}

LineChart scatter(const SweepTable& table, const SweepCurves& curves, LineChart chart, const Figure& x, const Figure& y) {
  chart.series = curves_of(table, curves, x, y);
  chart.y.logarithmic = chart.y.label.ends_with("ms") && spans(30, chart.series, &Point::y);
  return chart;
}

// No other point is better in both.
Series front_of(const LineChart& chart) {
  std::vector<Point> points;
  for (const Series& series : chart.series) points.insert(points.end(), series.points.begin(), series.points.end());
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x != b.x ? a.x > b.x : a.y > b.y; });
  Series front{.name = "front", .points = {}, .style = Series::Style::dashed};
  for (const Point& point : points) {
    if (front.points.empty() || point.y > front.points.back().y) front.points.push_back({point.x, point.y, ""});
  }
  return front;
}

void add(Section& section, LineChart chart) {
  if (has_points(chart)) section.blocks.push_back(std::move(chart));
}

Section latency_section(const SweepTable& table, const SweepCurves& curves) {
  Section section{"Latency against throughput", {}};
  const Figure throughput = metric_figure("output_throughput");
  add(section, scatter(table, curves,
                       {.title = "TTFT p99 over output tokens/s", .caption = "Lower right is better. Where a curve turns up, or back, the queue begins to grow.",
                        .x = {"output tokens/s"}, .y = {"TTFT p99, ms"}, .series = {}}, throughput, metric_figure("p99_ttft_ms")));
  add(section, scatter(table, curves,
                       {.title = "TPOT p99 over output tokens/s", .caption = "Lower right is better. Larger batches give more tokens, each of them later.",
                        .x = {"output tokens/s"}, .y = {"TPOT p99, ms"}, .series = {}}, throughput, metric_figure("p99_tpot_ms")));
  LineChart pareto = scatter(table, curves,
                             {.title = "Tokens/s/GPU against tokens/s/user",
                              .caption = "Upper right is better; on the front no other point is better in both. A user's speed is 1 / median TPOT.",
                              .x = {"output tokens/s/user"}, .y = {"output tokens/s/GPU"}, .series = {}}, tokens_per_user, tokens_per_gpu);
  if (has_points(pareto)) {
    pareto.series.push_back(front_of(pareto));
    section.blocks.push_back(std::move(pareto));
  }
  return section;
}

// The cheapest first; a colour for points that keep the SLO, where it is judged.
std::optional<BarChart> cost_bars(const SweepTable& table) {
  constexpr std::size_t most = 40;  // bars that can be read
  constexpr std::string_view metric = "usd_per_million_output_tokens";
  std::vector<const SweepRow*> priced;
  for (const SweepRow& row : table.rows) {
    if (!std::isnan(value_of(row, metric))) priced.push_back(&row);
  }
  if (priced.empty()) return std::nullopt;
  std::stable_sort(priced.begin(), priced.end(), [&](const SweepRow* a, const SweepRow* b) { return value_of(*a, metric) < value_of(*b, metric); });
  BarChart chart{.title = "Cost of output", .caption = "Dollars of GPU time for a million output tokens, the cheapest first.",
                 .value = {"USD per million output tokens"}, .categories = {}, .series = {}, .horizontal = true, .stacked = true};
  if (priced.size() > most) {
    chart.caption += fmt::format(" The {} cheapest of {} points.", most, priced.size());
    priced.resize(most);
  }
  const bool judged = std::any_of(priced.begin(), priced.end(), [](const SweepRow* row) { return row->outcome.slo_met.has_value(); });
  const std::vector<std::string> names = judged ? std::vector<std::string>{"SLO met", "SLO not met"} : std::vector<std::string>{"USD"};
  for (const std::string& name : names) chart.series.push_back({name, std::vector<double>(priced.size(), std::nan(""))});
  for (std::size_t i = 0; i < priced.size(); ++i) {
    chart.categories.push_back(short_name(table, *priced[i]));
    const std::size_t series = judged && !priced[i]->outcome.slo_met.value_or(true) ? 1 : 0;
    chart.series[series].second[i] = value_of(*priced[i], metric);
  }
  return chart;
}

Section over_key(const SweepTable& table, const SweepCurves& curves) {
  struct Shown {
    std::string_view metric;
    std::string_view caption;
  };
  constexpr std::array<Shown, 7> shown{{{"request_goodput", "Requests a second that kept every limit of the SLO."},
                                        {"output_throughput", "Output tokens of all GPUs."},
                                        {"p99_ttft_ms", "One request in a hundred waits longer for its first token."},
                                        {"p99_tpot_ms", "One request in a hundred gets its tokens more slowly."},
                                        {"kv_cache_usage_peak", "Near 1 requests wait for KV blocks, or are preempted."},
                                        {"prefix_cache_hit_rate", "Share of prompt tokens found in the prefix cache."},
                                        {"usd_per_million_output_tokens", "Dollars of GPU time for a million output tokens."}}};
  const std::size_t axis = *curves.axis;
  const std::string& key = table.axes[axis];
  Section section{"Over " + key, {}};
  for (const Shown& one : shown) {
    LineChart chart{.title = metrics()[metric_index(one.metric)].label, .caption = std::string(one.caption), .x = {key},
                    .y = {metrics()[metric_index(one.metric)].label}, .series = {}};
    for (const SweepCurves::Curve& curve : curves.curves) {
      Series series{.name = curve.name, .points = {}, .style = Series::Style::trail};
      for (const auto& [index, along] : curve.rows) {
        const double value = value_of(table.rows[index], one.metric);
        if (std::isfinite(value)) series.points.push_back({along, value, ""});
      }
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    chart.x.logarithmic = spans(10, chart.series, &Point::x);
    chart.y.logarithmic = one.metric.ends_with("_ms") && spans(30, chart.series, &Point::y);
    const auto zero = [](const Series& series) {
      return std::all_of(series.points.begin(), series.points.end(), [](const Point& point) { return point.y == 0; });
    };
    if (!std::all_of(chart.series.begin(), chart.series.end(), zero)) add(section, std::move(chart));
  }
  return section;
}

std::vector<Tile> tiles(const SweepTable& table) {
  std::array<std::int64_t, 5> counts{};
  std::int64_t saturated = 0, judged = 0, met = 0;
  for (const SweepRow& row : table.rows) {
    ++counts[static_cast<std::size_t>(row.outcome.status)];
    saturated += row.outcome.saturated.value_or(false) ? 1 : 0;
    judged += row.outcome.slo_met ? 1 : 0;
    met += row.outcome.slo_met.value_or(false) ? 1 : 0;
  }
  std::vector<Tile> tiles{{"points", grouped(static_cast<std::int64_t>(table.rows.size())), grouped(counts[0]) + " ran", Tile::Mood::plain}};
  for (const PointStatus status : {PointStatus::skipped, PointStatus::infeasible, PointStatus::failed, PointStatus::error}) {
    const std::int64_t count = counts[static_cast<std::size_t>(status)];
    if (count == 0) continue;
    const bool wrong = status == PointStatus::failed || status == PointStatus::error;
    tiles.push_back({std::string(to_string(status)), grouped(count), "the table has the reasons", wrong ? Tile::Mood::bad : Tile::Mood::plain});
  }
  if (judged > 0) tiles.push_back({"SLO met", grouped(met), fmt::format("of {} judged", grouped(judged)), met > 0 ? Tile::Mood::good : Tile::Mood::bad});
  if (saturated > 0) tiles.push_back({"saturated", grouped(saturated), "latencies depend on how long the run lasts", Tile::Mood::bad});
  return tiles;
}

Table points_table(const SweepTable& table) {
  const bool named = !table.axes.empty();
  const bool reasons = std::any_of(table.rows.begin(), table.rows.end(), [](const SweepRow& row) { return row.outcome.status != PointStatus::ok; });
  Table all{table.axes, {}};
  if (!named) all.head.emplace_back("point");
  all.head.emplace_back("status");
  for (const SweepColumn& column : sweep_columns()) all.head.emplace_back(column.title);
  if (reasons) all.head.emplace_back("reason");
  for (const SweepRow& row : table.rows) {
    std::vector<std::string> cells = named ? row.values : std::vector<std::string>{short_name(table, row)};
    cells.emplace_back(row.outcome.saturated.value_or(false) ? "saturated" : std::string(to_string(row.outcome.status)));
    for (const SweepColumn& column : sweep_columns()) cells.push_back(sweep_cell(column, row.outcome));
    if (reasons) cells.push_back(row.outcome.reason);
    all.rows.push_back(std::move(cells));
  }
  return all;
}

}  // namespace

Page sweep_page(const SweepTable& table) {
  std::string keys;
  for (const std::string& axis : table.axes) keys += (keys.empty() ? "" : ", ") + axis;
  Page page{.title = table.name.empty() ? "ridgeline sweep" : table.name,
            .subtitle = fmt::format("sweep of {} points{}", table.rows.size(), keys.empty() ? "" : " over " + keys), .warnings = {}, .sections = {}};
  page.sections.push_back({"Summary", {tiles(table)}});
  const SweepCurves curves = sweep_curves(table);
  page.sections.push_back(latency_section(table, curves));
  if (curves.axis) page.sections.push_back(over_key(table, curves));
  if (auto bars = cost_bars(table)) page.sections.push_back({"Cost", {std::move(*bars)}});
  page.sections.push_back({"Points", {points_table(table)}});
  return page;
}

}  // namespace ridgeline::html
