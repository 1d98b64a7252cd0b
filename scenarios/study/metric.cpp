#include "scenarios/study/metric.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

using Value = std::optional<double>;

Value when(bool known, double value) { return known ? Value(value) : std::nullopt; }
double real(std::int64_t count) { return static_cast<double>(count); }

void add_latency(std::vector<Metric>& list, const std::string& name, const std::string& label, Summary RunMetrics::*metric) {
  const auto add = [&](const char* statistic, double Summary::*field) {
    list.push_back({.name = fmt::format("{}_{}_ms", statistic, name), .label = fmt::format("{} {}, ms", label, statistic), .better = Better::lower,
                    .value = [metric, field](const Scenario&, const RunMetrics& m) {
                      const Summary& summary = m.*metric;
                      return when(summary.count > 0, summary.*field);
                    }});
  };
  add("mean", &Summary::mean);
  add("p50", &Summary::p50);
  add("p90", &Summary::p90);
  add("p95", &Summary::p95);
  add("p99", &Summary::p99);
}

std::vector<Metric> make_metrics() {
  std::vector<Metric> list;
  const auto add = [&](const char* name, const char* label, Better better, double (*value)(const RunMetrics&)) {
    list.push_back({.name = name, .label = label, .better = better, .value = [value](const Scenario&, const RunMetrics& m) { return Value(value(m)); }});
  };
  const auto count = [&](const char* name, const char* label, Better better, std::int64_t (*value)(const RunMetrics&)) {
    list.push_back({.name = name, .label = label, .better = better, .whole = true,
                    .value = [value](const Scenario&, const RunMetrics& m) { return Value(real(value(m))); }});
  };
  list.push_back({.name = "gpus", .label = "GPUs", .better = Better::lower, .whole = true,
                  .value = [](const Scenario& s, const RunMetrics&) { return Value(s.gpus()); }});
  count("completed", "requests completed", Better::neither, [](const RunMetrics& m) { return m.completed; });
  count("total_input_tokens", "input tokens", Better::neither, [](const RunMetrics& m) { return m.total_input_tokens; });
  count("total_output_tokens", "output tokens", Better::neither, [](const RunMetrics& m) { return m.total_output_tokens; });
  add("duration", "duration, s", Better::lower, [](const RunMetrics& m) { return m.duration.seconds(); });
  add("request_throughput", "requests/s", Better::higher, [](const RunMetrics& m) { return m.request_throughput; });
  list.push_back({.name = "request_goodput", .label = "goodput, requests/s", .better = Better::higher, .value = [](const Scenario& s, const RunMetrics& m) {
                    return when(!s.slo.empty(), m.request_goodput);
                  }});
  list.push_back({.name = "slo_attainment", .label = "share within SLO", .better = Better::higher, .value = [](const Scenario& s, const RunMetrics& m) {
                    const bool judged = !s.slo.empty() && m.completed > 0;
                    return judged ? Value(real(m.good) / real(m.completed)) : std::nullopt;
                  }});
  add("output_throughput", "output tokens/s", Better::higher, [](const RunMetrics& m) { return m.output_throughput; });
  add("total_token_throughput", "tokens/s", Better::higher, [](const RunMetrics& m) { return m.total_token_throughput; });
  add_latency(list, "ttft", "TTFT", &RunMetrics::ttft);
  add_latency(list, "tpot", "TPOT", &RunMetrics::tpot);
  add_latency(list, "itl", "ITL", &RunMetrics::itl);
  add_latency(list, "e2el", "E2EL", &RunMetrics::e2el);
  add_latency(list, "queue_time", "queue", &RunMetrics::queue_time);
  add("busy", "busy share", Better::neither, [](const RunMetrics& m) { return m.fleet.busy; });
  add("kv_cache_usage_mean", "KV use, mean", Better::neither, [](const RunMetrics& m) { return m.fleet.kv_cache_usage_mean; });
  add("kv_cache_usage_peak", "KV use, peak", Better::neither, [](const RunMetrics& m) { return m.fleet.kv_cache_usage_peak; });
  count("preemptions", "preemptions", Better::lower, [](const RunMetrics& m) { return m.fleet.preemptions; });
  add("prefix_cache_hit_rate", "prefix cache hits", Better::higher, [](const RunMetrics& m) { return m.fleet.prefix_cache_hit_rate(); });
  list.push_back({.name = "output_tokens_per_step", .label = "output tokens a step", .better = Better::higher,
                  .value = [](const Scenario&, const RunMetrics& m) {
                    return m.fleet.speculation ? Value(m.fleet.speculation->output_tokens_per_step()) : std::nullopt;
                  }});
  list.push_back({.name = "mean_acceptance_length", .label = "mean acceptance length", .better = Better::higher,
                  .value = [](const Scenario&, const RunMetrics& m) {
                    return m.fleet.speculation ? Value(m.fleet.speculation->mean_acceptance_length()) : std::nullopt;
                  }});
  list.push_back({.name = "mfu_busy", .label = "MFU while busy", .better = Better::higher, .value = [](const Scenario&, const RunMetrics& m) {
                    return when(m.fleet.facts.peak_compute.count() > 0, m.fleet.mfu_busy);
                  }});
  list.push_back({.name = "mbu_busy", .label = "MBU while busy", .better = Better::higher, .value = [](const Scenario&, const RunMetrics& m) {
                    return when(m.fleet.facts.peak_compute.count() > 0, m.fleet.mbu_busy);
                  }});
  list.push_back({.name = "cost_usd", .label = "cost, USD", .better = Better::lower, .value = [](const Scenario&, const RunMetrics& m) {
                    return when(m.fleet.cost.count() > 0, m.fleet.cost.count());
                  }});
  list.push_back({.name = "usd_per_million_output_tokens", .label = "USD per M output tokens", .better = Better::lower,
                  .value = [](const Scenario&, const RunMetrics& m) {
                    const bool known = m.fleet.cost.count() > 0 && m.fleet.output_tokens > 0;
                    return known ? Value(m.fleet.cost.count() / real(m.fleet.output_tokens) * 1e6) : std::nullopt;
                  }});
  list.push_back({.name = "energy_joules", .label = "energy, J", .better = Better::lower, .value = [](const Scenario&, const RunMetrics& m) {
                    return when(m.fleet.energy.count() > 0, m.fleet.energy.count());
                  }});
  return list;
}

}  // namespace

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> all = make_metrics();
  return all;
}

std::size_t metric_index(std::string_view name) {
  for (std::size_t i = 0; i < metrics().size(); ++i) {
    if (metrics()[i].name == name) return i;
  }
  throw InternalError(fmt::format("no metric `{}`", name));
}

const Metric& find_metric(const std::string& name, const std::string& source) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) {
    if (metric.name == name) return metric;
    names.push_back(metric.name);
  }
  throw ConfigError(fmt::format("{}: unknown metric `{}`{}", source, name, suggestion(name, names)));
}

}  // namespace ridgeline
