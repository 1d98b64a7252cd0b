#include "scenarios/report/run_table.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "scenarios/report/run_json.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

std::string pool_line(const Pool& pool) {
  std::string line = fmt::format("{} x ", pool.replicas);
  line += pool.gpu ? pool.gpu->name : "replica";
  if (pool.tensor_parallel_size > 1) line += fmt::format(" TP{}", pool.tensor_parallel_size);
  if (pool.model) line += ", " + pool.model->name;
  if (pool.model && pool.model->quantization != "none") line += " " + pool.model->quantization;
  line += fmt::format(", {}, {} KV blocks of {} tokens", pool.engine.profile, grouped(pool.engine.num_gpu_blocks), pool.engine.block_size);
  return line;
}

std::string share_of_slo(const RunMetrics& metrics) {
  if (metrics.completed == 0) return "-";
  return percent(static_cast<double>(metrics.good) / static_cast<double>(metrics.completed));
}

void add_latency(TextTable& table, const std::string& name, const Summary& summary) {
  if (summary.count == 0) {
    table.add({name, "-", "-", "-", "-", "-"});
    return;
  }
  table.add({name, figure(summary.mean), figure(summary.p50), figure(summary.p90), figure(summary.p95), figure(summary.p99)});
}

std::string latency_text(const RunMetrics& metrics) {
  TextTable table;
  table.add({"latency, ms", "mean", "p50", "p90", "p95", "p99"});
  add_latency(table, "  TTFT  first token", metrics.ttft);
  add_latency(table, "  TPOT  per output token", metrics.tpot);
  add_latency(table, "  ITL   between tokens", metrics.itl);
  add_latency(table, "  E2EL  whole request", metrics.e2el);
  add_latency(table, "  queue before admission", metrics.queue_time);
  return table.text("  ");
}

std::string or_dash(bool known, const std::string& text) { return known ? text : "-"; }

std::string pools_text(const RunMetrics& metrics) {
  TextTable table;
  table.add({"pool", "GPUs", "busy", "KV mean", "peak", "queue mean", "peak", "preempted", "cache hits", "MFU", "MBU", "USD", "USD/M out"});
  const auto add = [&](const PoolMetrics& pool, const std::string& name) {
    const bool peaks = pool.facts.peak_compute.count() > 0;
    const bool priced = pool.cost.count() > 0;
    const double tokens = static_cast<double>(pool.output_tokens);
    table.add({name, grouped(pool.facts.gpus), percent(pool.busy), percent(pool.kv_cache_usage_mean), percent(pool.kv_cache_usage_peak),
               figure(pool.queue_mean), grouped(pool.queue_peak), grouped(pool.preemptions), percent(pool.prefix_cache_hit_rate()),
               or_dash(peaks, percent(pool.mfu_busy)), or_dash(peaks, percent(pool.mbu_busy)), or_dash(priced, figure(pool.cost.count())),
               or_dash(priced && tokens > 0, figure(pool.cost.count() / tokens * 1e6))});
  };
  for (const PoolMetrics& pool : metrics.pools) add(pool, pool.facts.name);
  if (metrics.pools.size() > 1) add(metrics.fleet, "fleet");
  return table.text("  ");
}

std::string gib(double bytes) { return figure(bytes * 0x1p-30) + " GiB"; }

// What KV memory did beside holding blocks; one line a pool, and only where there is something to say.
std::string kv_memory_text(const RunMetrics& metrics) {
  std::string text;
  for (const PoolMetrics& pool : metrics.pools) {
    std::string line;
    if (pool.kv_waste) {
      line += fmt::format("; held no token: {} reserved, {} internal, {} external", percent(pool.kv_waste->reserved),
                          percent(pool.kv_waste->internal), percent(pool.kv_waste->external));
    }
    if (pool.swapped_out.sequences > 0) {
      line += fmt::format("; swapped {} requests out ({}), {} in ({})", grouped(pool.swapped_out.sequences), gib(pool.swapped_out.bytes),
                          grouped(pool.swapped_in.sequences), gib(pool.swapped_in.bytes));
    }
    if (pool.offload_stored.blocks > 0) {
      line += fmt::format("; host tier stored {}, loaded {} ({} tokens)", gib(pool.offload_stored.bytes), gib(pool.offload_loaded.bytes),
                          grouped(pool.offload_loaded.tokens));
    }
    if (pool.kv_evicted_tokens > 0) line += fmt::format("; evicted {} tokens", grouped(pool.kv_evicted_tokens));
    if (!line.empty()) text += fmt::format("  KV of {}: {}\n", pool.facts.name, line.substr(2));
  }
  return text.empty() ? text : "\n" + text;
}

std::string causes_text(const PoolMetrics& pool) {
  std::string text;
  for (std::size_t i = 0; i < cause_count; ++i) {
    if (pool.time_by_cause[i] < 0.0005) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<Cause>(i)), percent(pool.time_by_cause[i]));
  }
  return text;
}

std::string speculation_text(const RunMetrics& metrics) {
  std::string text;
  for (const PoolMetrics& pool : metrics.pools) {
    if (!pool.speculation) continue;
    const SpeculationMetrics& s = *pool.speculation;
    text += fmt::format("\n  speculation, {}: {} tokens a step; {} drafts, acceptance length {}, {} of {} draft tokens rejected\n"
                        "    of the step time, proposing adds {}, rejected rows take {}\n",
                        pool.facts.name, or_dash(s.decodes > 0, figure(s.output_tokens_per_step())), grouped(s.drafts),
                        or_dash(s.drafts > 0, figure(s.mean_acceptance_length())), or_dash(s.drafts > 0, percent(1.0 - s.acceptance_rate())),
                        grouped(s.draft_tokens), percent(s.drafting), percent(s.rejected));
  }
  return text;
}

std::string objective_text(const Scenario& scenario, const RunMetrics& metrics) {
  if (scenario.slo.empty()) return "";
  const std::optional<bool> met = meets(scenario.slo, metrics);
  std::string text = fmt::format("  SLO        {} of the requests within every limit, {} good requests/s", share_of_slo(metrics),
                                 figure(metrics.request_goodput));
  if (met) text += *met ? ": met" : ": NOT met";
  return text + "\n";
}

}  // namespace

std::string warning_lines(const Scenario& scenario) {
  std::string text;
  for (const Diagnostic& warning : scenario.warnings) text += "warning: " + to_string(warning) + "\n";
  return text;
}

std::string warning_lines(const std::vector<std::string>& workload_warnings, const std::vector<std::string>& told) {
  std::string text;
  for (const std::string& warning : workload_warnings) {
    if (std::find(told.begin(), told.end(), warning) == told.end()) text += "warning: workload: " + warning + "\n";
  }
  return text;
}

std::string warning_lines(const Scenario& scenario, const RunResult& result) {
  return warning_lines(scenario) + warning_lines(result.workload.warnings);
}

std::string run_table(const Scenario& scenario, const RunResult& result) {
  const RunMetrics& metrics = result.metrics;
  std::string text = fmt::format("{}  (seed {})\n", scenario.name.empty() ? "scenario" : scenario.name, scenario.seed);
  for (const Pool& pool : scenario.fleet) text += fmt::format("  {:<10} {}\n", pool.name, pool_line(pool));
  text += fmt::format("  {:<10} {}\n\n", "workload", result.workload.description);
  const WorkloadStatistics::Rates& rates = result.workload.statistics.rates;
  if (scenario.workload.trace && rates.most > 0) {
    text += fmt::format("  arrivals   {}/s in the first {} s, {} to {}/s in others\n", figure(rates.first), figure(rates.window.seconds()),
                        figure(rates.least), figure(rates.most));
  }
  text += fmt::format("  requests   {} completed in {} s: {} requests/s\n", grouped(metrics.completed), figure(metrics.duration.seconds()),
                      figure(metrics.request_throughput));
  text += fmt::format("  tokens     {} in, {} out: {} out/s, {} in all/s\n", grouped(metrics.total_input_tokens),
                      grouped(metrics.total_output_tokens), figure(metrics.output_throughput), figure(metrics.total_token_throughput));
  text += objective_text(scenario, metrics) + "\n" + latency_text(metrics) + "\n" + pools_text(metrics);
  text += speculation_text(metrics);
  text += kv_memory_text(metrics);
  text += fmt::format("\n  where the time went: {}\n", causes_text(metrics.fleet));
  if (metrics.near_knee) text += "\n  " + knee_text(metrics) + "\n";
  if (metrics.saturated) {
    text += "\n  SATURATED: the queue still grew at the end. The fleet can't keep up; latencies above depend on how long the run lasts.\n";
  }
  return text;
}

std::string comparison_table(const std::vector<Compared>& results) {
  using Figure = std::function<std::string(const Compared&)>;
  TextTable table;
  const auto row = [&](const std::string& name, const Figure& value) {
    std::vector<std::string> cells{name};
    for (const Compared& result : results) cells.push_back(value(result));
    table.add(std::move(cells));
  };
  const auto latency = [&](const std::string& name, Summary RunMetrics::*metric, double Summary::*statistic) {
    row(name, [=](const Compared& c) {
      const Summary& summary = c.result.metrics.*metric;
      return or_dash(summary.count > 0, figure(summary.*statistic));
    });
  };
  row("", [](const Compared& c) { return c.label; });
  row("GPUs", [](const Compared& c) { return grouped(c.scenario.gpus()); });
  row("requests completed", [](const Compared& c) { return grouped(c.result.metrics.completed); });
  row("requests/s", [](const Compared& c) { return figure(c.result.metrics.request_throughput); });
  row("output tokens/s", [](const Compared& c) { return figure(c.result.metrics.output_throughput); });
  row("within SLO", [](const Compared& c) { return c.scenario.slo.empty() ? "-" : share_of_slo(c.result.metrics); });
  row("SLO met", [](const Compared& c) {
    const auto met = meets(c.scenario.slo, c.result.metrics);
    return std::string(met ? (*met ? "yes" : "no") : "-");
  });
  latency("TTFT p50, ms", &RunMetrics::ttft, &Summary::p50);
  latency("TTFT p99, ms", &RunMetrics::ttft, &Summary::p99);
  latency("TPOT p50, ms", &RunMetrics::tpot, &Summary::p50);
  latency("TPOT p99, ms", &RunMetrics::tpot, &Summary::p99);
  latency("E2EL p50, ms", &RunMetrics::e2el, &Summary::p50);
  latency("E2EL p99, ms", &RunMetrics::e2el, &Summary::p99);
  row("busy", [](const Compared& c) { return percent(c.result.metrics.fleet.busy); });
  if (std::any_of(results.begin(), results.end(), [](const Compared& c) { return c.result.metrics.fleet.speculation.has_value(); })) {
    row("tokens per decode step", [](const Compared& c) {
      const auto& speculation = c.result.metrics.fleet.speculation;
      return speculation ? figure(speculation->output_tokens_per_step()) : std::string("1");
    });
  }
  row("KV use, peak", [](const Compared& c) { return percent(c.result.metrics.fleet.kv_cache_usage_peak); });
  row("batch, mean", [](const Compared& c) { return figure(c.result.metrics.fleet.running_mean); });
  row("preemptions", [](const Compared& c) { return grouped(c.result.metrics.fleet.preemptions); });
  row("cost, USD", [](const Compared& c) {
    const double cost = c.result.metrics.fleet.cost.count();
    return or_dash(cost > 0, figure(cost));
  });
  row("USD per M output tokens", [](const Compared& c) {
    const PoolMetrics& fleet = c.result.metrics.fleet;
    return or_dash(fleet.cost.count() > 0 && fleet.output_tokens > 0, figure(fleet.cost.count() / static_cast<double>(fleet.output_tokens) * 1e6));
  });
  row("saturated", [](const Compared& c) {
    return std::string(c.result.metrics.saturated ? "YES" : c.result.metrics.near_knee ? "near the knee" : "no");
  });
  return table.text("  ");
}

}  // namespace ridgeline
