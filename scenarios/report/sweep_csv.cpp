#include "scenarios/report/sweep_csv.hpp"

#include <map>

#include <fmt/format.h>

#include "scenarios/report/csv_cell.hpp"
#include "scenarios/report/text.hpp"
#include "scenarios/study/metric.hpp"

namespace ridgeline {

namespace {

// Doubles in the fewest digits that read back to the same value; counts without an exponent.
std::string number(const Metric& metric, double value) {
  return metric.whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

std::string truth(const std::optional<bool>& value) { return value ? (*value ? "true" : "false") : ""; }

constexpr SweepColumn columns[] = {
    {"requests/s", "requests/s", "request_throughput"}, {"out tok/s", "output tokens/s", "output_throughput"},
    {"TTFT p50", "TTFT p50, ms", "p50_ttft_ms"}, {"p99", "TTFT p99, ms", "p99_ttft_ms"},
    {"TPOT p50", "TPOT p50, ms", "p50_tpot_ms"}, {"p99 ms", "TPOT p99, ms", "p99_tpot_ms"},
    {"in SLO", "within SLO", "slo_attainment", true}, {"KV peak", "KV use, peak", "kv_cache_usage_peak", true},
    {"USD/M out", "USD per M output tokens", "usd_per_million_output_tokens"}};

// Points without a result, gathered by their reason: a hundred points may share one.
std::string reasons_text(const SweepTable& table) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> labels;
  for (const SweepRow& row : table.rows) {
    if (row.outcome.status == PointStatus::ok) continue;
    const std::string reason = fmt::format("{}: {}", to_string(row.outcome.status), row.outcome.reason);
    if (labels[reason].empty()) order.push_back(reason);
    labels[reason].push_back(row.label);
  }
  std::string text;
  for (const std::string& reason : order) {
    const std::vector<std::string>& points = labels[reason];
    text += fmt::format("  {}\n", reason);
    text += points.size() == 1 ? fmt::format("      {}\n", points.front()) : fmt::format("      {} and {} more\n", points.front(), points.size() - 1);
  }
  return text.empty() ? text : "\npoints without a result:\n" + text;
}

}  // namespace

std::span<const SweepColumn> sweep_columns() { return columns; }

std::string sweep_cell(const SweepColumn& column, const PointOutcome& outcome) {
  const std::optional<double> value = outcome.metrics.empty() ? std::nullopt : outcome.metrics[metric_index(column.metric)];
  return !value ? "-" : column.share ? percent(*value) : figure(*value);
}

std::string sweep_csv(const SweepTable& table) {
  std::string text;
  for (const std::string& axis : table.axes) text += csv_cell(axis) + ",";
  text += "status";
  for (const Metric& metric : metrics()) text += "," + metric.name;
  text += ",saturated,slo_met,reason\n";
  for (const SweepRow& row : table.rows) {
    for (const std::string& value : row.values) text += csv_cell(value) + ",";
    text += to_string(row.outcome.status);
    for (std::size_t i = 0; i < metrics().size(); ++i) {
      text += ",";
      if (!row.outcome.metrics.empty() && row.outcome.metrics[i]) text += number(metrics()[i], *row.outcome.metrics[i]);
    }
    text += fmt::format(",{},{},{}\n", truth(row.outcome.saturated), truth(row.outcome.slo_met), csv_cell(row.outcome.reason));
  }
  return text;
}

std::string sweep_text(const SweepTable& table) {
  TextTable text;
  std::vector<std::string> head = table.axes;
  for (const SweepColumn& column : columns) head.emplace_back(column.head);
  text.add(std::move(head));
  for (const SweepRow& row : table.rows) {
    std::vector<std::string> cells = row.values;
    if (row.outcome.status != PointStatus::ok) {
      cells.emplace_back(to_string(row.outcome.status));
    } else {
      for (const SweepColumn& column : columns) cells.push_back(sweep_cell(column, row.outcome));
      if (row.outcome.saturated.value_or(false)) cells.emplace_back("saturated");
    }
    text.add(std::move(cells));
  }
  return text.text("  ") + reasons_text(table);
}

}  // namespace ridgeline
