#include "scenarios/report/sweep_csv.hpp"

#include <functional>

#include <fmt/format.h>

#include "scenarios/report/csv_cell.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

struct Column {
  std::string name;
  std::function<std::string(const Scenario&, const RunMetrics&)> value;
};

std::string number(double value) { return fmt::format("{}", value); }

void add_latency(std::vector<Column>& columns, const std::string& name, Summary RunMetrics::*metric) {
  const auto add = [&](const char* statistic, double Summary::*field) {
    columns.push_back({fmt::format("{}_{}_ms", statistic, name), [metric, field](const Scenario&, const RunMetrics& m) {
                         const Summary& summary = m.*metric;
                         return summary.count > 0 ? number(summary.*field) : std::string();
                       }});
  };
  add("mean", &Summary::mean);
  add("p50", &Summary::p50);
  add("p90", &Summary::p90);
  add("p95", &Summary::p95);
  add("p99", &Summary::p99);
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> list;
    const auto add = [&](std::string name, std::function<std::string(const Scenario&, const RunMetrics&)> value) {
      list.push_back({std::move(name), std::move(value)});
    };
    add("gpus", [](const Scenario& s, const RunMetrics&) { return std::to_string(s.gpus()); });
    add("completed", [](const Scenario&, const RunMetrics& m) { return std::to_string(m.completed); });
    add("total_input_tokens", [](const Scenario&, const RunMetrics& m) { return std::to_string(m.total_input_tokens); });
    add("total_output_tokens", [](const Scenario&, const RunMetrics& m) { return std::to_string(m.total_output_tokens); });
    add("duration", [](const Scenario&, const RunMetrics& m) { return number(m.duration.seconds()); });
    add("request_throughput", [](const Scenario&, const RunMetrics& m) { return number(m.request_throughput); });
    add("request_goodput", [](const Scenario&, const RunMetrics& m) { return number(m.request_goodput); });
    add("output_throughput", [](const Scenario&, const RunMetrics& m) { return number(m.output_throughput); });
    add("total_token_throughput", [](const Scenario&, const RunMetrics& m) { return number(m.total_token_throughput); });
    add_latency(list, "ttft", &RunMetrics::ttft);
    add_latency(list, "tpot", &RunMetrics::tpot);
    add_latency(list, "itl", &RunMetrics::itl);
    add_latency(list, "e2el", &RunMetrics::e2el);
    add("saturated", [](const Scenario&, const RunMetrics& m) { return std::string(m.saturated ? "true" : "false"); });
    add("slo_met", [](const Scenario& s, const RunMetrics& m) {
      const auto met = meets(s.slo, m);
      return std::string(met ? (*met ? "true" : "false") : "");
    });
    add("busy", [](const Scenario&, const RunMetrics& m) { return number(m.fleet.busy); });
    add("kv_cache_usage_mean", [](const Scenario&, const RunMetrics& m) { return number(m.fleet.kv_cache_usage_mean); });
    add("kv_cache_usage_peak", [](const Scenario&, const RunMetrics& m) { return number(m.fleet.kv_cache_usage_peak); });
    add("preemptions", [](const Scenario&, const RunMetrics& m) { return std::to_string(m.fleet.preemptions); });
    add("output_tokens_per_step", [](const Scenario&, const RunMetrics& m) {
      return m.fleet.speculation ? number(m.fleet.speculation->output_tokens_per_step()) : std::string();
    });
    add("mean_acceptance_length", [](const Scenario&, const RunMetrics& m) {
      return m.fleet.speculation ? number(m.fleet.speculation->mean_acceptance_length()) : std::string();
    });
    add("mfu_busy", [](const Scenario&, const RunMetrics& m) { return number(m.fleet.mfu_busy); });
    add("mbu_busy", [](const Scenario&, const RunMetrics& m) { return number(m.fleet.mbu_busy); });
    add("cost_usd", [](const Scenario&, const RunMetrics& m) { return m.fleet.cost.count() > 0 ? number(m.fleet.cost.count()) : std::string(); });
    add("usd_per_million_output_tokens", [](const Scenario&, const RunMetrics& m) {
      const bool known = m.fleet.cost.count() > 0 && m.fleet.output_tokens > 0;
      return known ? number(m.fleet.cost.count() / static_cast<double>(m.fleet.output_tokens) * 1e6) : std::string();
    });
    add("energy_joules", [](const Scenario&, const RunMetrics& m) { return number(m.fleet.energy.count()); });
    return list;
  }();
  return all;
}

}  // namespace

std::string sweep_csv(const std::vector<ScenarioPoint>& points, const std::vector<PointResult>& results) {
  std::string text;
  for (const auto& [path, value] : points.front().values) text += csv_cell(path) + ",";
  text += "status";
  for (const Column& column : columns()) text += "," + column.name;
  text += ",error\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointResult& point = results[i];
    for (const auto& [path, value] : points[i].values) text += csv_cell(value) + ",";
    text += point.result ? "ok" : "refused";
    for (const Column& column : columns()) {
      text += ",";
      if (point.result) text += csv_cell(column.value(*point.scenario, point.result->metrics));
    }
    text += fmt::format(",{}\n", csv_cell(point.error));
  }
  return text;
}

std::string sweep_table(const std::vector<ScenarioPoint>& points, const std::vector<PointResult>& results) {
  TextTable table;
  std::vector<std::string> head;
  for (const auto& [path, value] : points.front().values) head.push_back(path);
  for (const char* name : {"requests/s", "out tok/s", "TTFT p50", "p99", "TPOT p50", "p99 ms", "in SLO", "KV peak", "USD/M out", ""}) head.emplace_back(name);
  table.add(std::move(head));
  std::string refusals;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<std::string> row;
    for (const auto& [path, value] : points[i].values) row.push_back(value);
    if (!results[i].result) {
      row.emplace_back("refused");
      refusals += fmt::format("  {}: {}\n", points[i].label, results[i].error);
    } else {
      const RunMetrics& m = results[i].result->metrics;
      const auto latency = [](const Summary& s, double value) { return s.count > 0 ? figure(value) : std::string("-"); };
      const double good = m.completed > 0 ? static_cast<double>(m.good) / static_cast<double>(m.completed) : 0.0;
      const bool priced = m.fleet.cost.count() > 0 && m.fleet.output_tokens > 0;
      row.insert(row.end(), {figure(m.request_throughput), figure(m.output_throughput), latency(m.ttft, m.ttft.p50),
                             latency(m.ttft, m.ttft.p99), latency(m.tpot, m.tpot.p50), latency(m.tpot, m.tpot.p99),
                             results[i].scenario->slo.empty() ? "-" : percent(good), percent(m.fleet.kv_cache_usage_peak),
                             priced ? figure(m.fleet.cost.count() / static_cast<double>(m.fleet.output_tokens) * 1e6) : "-",
                             m.saturated ? "saturated" : ""});
    }
    table.add(std::move(row));
  }
  return table.text("  ") + (refusals.empty() ? "" : "\nrefused points:\n" + refusals);
}

}  // namespace ridgeline
