#include "scenarios/report/html/run_page.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/report/html/roofline.hpp"
#include "scenarios/report/run_json.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline::html {

namespace {

std::string named(const RecordedRun& run, const std::string& what) {
  return run.label.empty() || run.label == what ? what : run.label + ": " + what;
}

std::string fleet_line(const Scenario& scenario) {
  std::string line;
  for (const Pool& pool : scenario.fleet) {
    line += fmt::format("{}{} x {}", line.empty() ? "" : " + ", pool.replicas, pool.gpu ? pool.gpu->name : "replica");
    if (pool.tensor_parallel_size > 1) line += fmt::format(" TP{}", pool.tensor_parallel_size);
    if (pool.model) line += ", " + pool.model->name;
  }
  return line;
}

Tile latency_tile(const std::string& name, const Summary& summary, const std::optional<Duration>& limit) {
  Tile tile{.label = name, .value = summary.count > 0 ? figure(summary.p99) + " ms" : "-", .note = "", .mood = Tile::Mood::plain};
  if (summary.count == 0) return tile;
  tile.note = "median " + figure(summary.p50) + " ms";
  if (limit) {
    tile.note += ", limit " + figure(limit->milliseconds()) + " ms";
    tile.mood = summary.p99 <= limit->milliseconds() ? Tile::Mood::good : Tile::Mood::bad;
  }
  return tile;
}

std::vector<Tile> key_figures(const RecordedRun& run) {
  const RunMetrics& metrics = run.result->metrics;
  const Slo& slo = run.scenario->slo;
  std::vector<Tile> tiles;
  tiles.push_back({"requests/s", figure(metrics.request_throughput), grouped(metrics.completed) + " completed"});
  tiles.push_back({"output tokens/s", figure(metrics.output_throughput), figure(metrics.total_token_throughput) + " in and out"});
  tiles.push_back(latency_tile("TTFT p99", metrics.ttft, slo.ttft));
  tiles.push_back(latency_tile("TPOT p99", metrics.tpot, slo.tpot));
  if (const auto met = meets(slo, metrics)) {
    tiles.push_back({"SLO", *met ? "met" : "not met", figure(metrics.request_goodput) + " good requests/s", *met ? Tile::Mood::good : Tile::Mood::bad});
  }
  if (const auto dollars = metrics.fleet.usd_per_million_output_tokens()) {
    tiles.push_back({"USD per million output tokens", figure(*dollars), figure(metrics.fleet.cost.count()) + " USD for this run"});
  }
  if (metrics.saturated) tiles.push_back({"load", "saturated", "latencies depend on how long the run lasts", Tile::Mood::bad});
  return tiles;
}

Table latency_table(const RecordedRun& run) {
  Table table{{"latency, ms", "mean", "p50", "p90", "p95", "p99"}, {}};
  const auto add = [&](const std::string& name, const Summary& s) {
    if (s.count > 0) table.rows.push_back({name, figure(s.mean), figure(s.p50), figure(s.p90), figure(s.p95), figure(s.p99)});
  };
  const RunMetrics& metrics = run.result->metrics;
  add("TTFT, first token", metrics.ttft);
  add("TPOT, per output token", metrics.tpot);
  add("ITL, between tokens", metrics.itl);
  add("E2EL, whole request", metrics.e2el);
  add("queue before admission", metrics.queue_time);
  return table;
}

Table pools_table(const RecordedRun& run) {
  Table table{{"pool", "replicas", "GPUs", "busy", "KV use, mean", "KV use, peak", "queue, mean", "preemptions", "cache hits", "MFU", "MBU"}, {}};
  for (const PoolMetrics& pool : run.result->metrics.pools) {
    const bool peaks = pool.facts.peak_compute.count() > 0;
    table.rows.push_back({pool.facts.name, grouped(pool.facts.replicas), grouped(pool.facts.gpus), percent(pool.busy),
                          percent(pool.kv_cache_usage_mean), percent(pool.kv_cache_usage_peak), figure(pool.queue_mean), grouped(pool.preemptions),
                          percent(pool.prefix_cache_hit_rate()), peaks ? percent(pool.mfu_busy) : "-", peaks ? percent(pool.mbu_busy) : "-"});
  }
  return table;
}

// The share of requests at or below each latency. Percentiles are denser where tails are read.
Series cumulative(const std::string& name, const Distribution& distribution) {
  Series series{.name = name, .points = {}};
  const auto add = [&](double p) { series.points.push_back({distribution.percentile(p).milliseconds(), p, ""}); };
  if (distribution.count() == 0) return series;
  for (int p = 0; p < 99; ++p) add(p);
  for (int tenth = 990; tenth <= 1000; ++tenth) add(tenth / 10.0);
  return series;
}

LineChart latency_curve(const std::string& metric, const std::string& what, const std::vector<RecordedRun>& runs,
                        const Distribution& (RunRecord::*of)() const, const std::optional<Duration>& limit) {
  LineChart chart{.title = metric + " distribution", .caption = "Share of requests whose " + what + " is at most so long.",
                  .x = {metric + ", ms", true}, .y = {"share of requests, %"}, .series = {}};
  for (const RecordedRun& run : runs) chart.series.push_back(cumulative(run.label.empty() ? metric : run.label, (run.record.get()->*of)()));
  if (limit) chart.series.push_back({"limit", {{limit->milliseconds(), 0, ""}, {limit->milliseconds(), 100, ""}}, Series::Style::dashed});
  return chart;
}

LineChart timeline(const std::string& title, const std::string& caption, const std::string& unit, const std::vector<RecordedRun>& runs,
                   const std::function<double(const History::Point&)>& value) {
  LineChart chart{.title = title, .caption = caption, .x = {"time, s"}, .y = {unit}, .series = {}};
  for (const RecordedRun& run : runs) {
    for (std::size_t pool = 0; pool < run.scenario->fleet.size(); ++pool) {
      Series series{.name = named(run, run.scenario->fleet[pool].name), .points = {}};
      for (const History::Point& point : run.record->history().points(pool)) series.points.push_back({point.middle.seconds(), value(point), ""});
      chart.series.push_back(std::move(series));
    }
  }
  return chart;
}

BarChart causes_chart(const std::vector<RecordedRun>& runs) {
  BarChart chart{.title = "Where the time went", .caption = "Share of replica time by what bounded it; idle is waiting for requests.",
                 .value = {"share of replica time, %"}, .categories = {}, .series = {}, .horizontal = true, .stacked = true};
  for (std::size_t cause = 0; cause < cause_count; ++cause) chart.series.push_back({std::string(to_string(static_cast<Cause>(cause))), {}});
  for (const RecordedRun& run : runs) {
    for (const PoolMetrics& pool : run.result->metrics.pools) {
      chart.categories.push_back(named(run, pool.facts.name));
      for (std::size_t cause = 0; cause < cause_count; ++cause) chart.series[cause].second.push_back(100 * pool.time_by_cause[cause]);
    }
  }
  return chart;
}

BarChart bars_over_runs(const std::string& title, const std::string& caption, const std::string& unit, const std::vector<RecordedRun>& runs,
                        const std::function<double(const RecordedRun&)>& value) {
  BarChart chart{.title = title, .caption = caption, .value = {unit}, .categories = {}, .series = {{unit, {}}}};
  for (const RecordedRun& run : runs) {
    chart.categories.push_back(run.label);
    chart.series.front().second.push_back(value(run));
  }
  return chart;
}

double dollars(const RecordedRun& run) {
  return run.result->metrics.fleet.usd_per_million_output_tokens().value_or(std::nan(""));
}

Section summary_section(const RecordedRun& run) {
  Section section{named(run, "summary"), {}};
  section.blocks.push_back(Paragraph{fleet_line(*run.scenario) + ". " + run.result->workload.description});
  section.blocks.push_back(key_figures(run));
  section.blocks.push_back(latency_table(run));
  section.blocks.push_back(pools_table(run));
  return section;
}

Section comparison_section(const std::vector<RecordedRun>& runs) {
  Section section{"Side by side", {}};
  const bool priced = std::any_of(runs.begin(), runs.end(), [](const RecordedRun& run) { return !std::isnan(dollars(run)); });
  if (priced) {
    section.blocks.push_back(bars_over_runs("Cost of output", "Dollars of GPU time for a million output tokens: lower is better.",
                                            "USD per million output tokens", runs, dollars));
  }
  section.blocks.push_back(bars_over_runs("Goodput", "Requests a second that kept every limit of the SLO.", "good requests/s", runs,
                                          [](const RecordedRun& run) { return run.result->metrics.request_goodput; }));
  return section;
}

// A step as this run saw them on average: that batch, at that context.
ExplainedBatch typical_batch(const RecordedRun& run, std::size_t pool) {
  const WorkloadStatistics::Summary& lengths = run.result->workload.statistics;
  const PoolMetrics& metrics = run.result->metrics.pools[pool];
  const double per_replica = metrics.running_mean / std::max(metrics.busy, 0.01);
  const auto tokens = [&](double mean) {
    return std::clamp<std::int64_t>(std::llround(mean), 1, run.scenario->fleet[pool].engine.max_model_len);
  };
  return {.batch = std::max<std::int64_t>(1, std::llround(per_replica)), .context = tokens(lengths.input.mean + lengths.output.mean / 2),
          .prompt = tokens(lengths.input.mean)};
}

void add_rooflines(Section& section, const std::vector<RecordedRun>& runs) {
  for (const RecordedRun& run : runs) {
    for (std::size_t i = 0; i < run.scenario->fleet.size(); ++i) {
      const Pool& pool = run.scenario->fleet[i];
      if (!pool.gpu || !pool.model || !pool.node) continue;
      if (auto chart = roofline_chart(explain(pool, typical_batch(run, i)))) {
        chart->title = named(run, chart->title);
        section.blocks.push_back(std::move(*chart));
      }
    }
  }
}

}  // namespace

Page run_page(const std::vector<RecordedRun>& runs) {
  const RecordedRun& first = runs.front();
  const Slo& slo = first.scenario->slo;
  Page page{.title = first.scenario->name.empty() ? "ridgeline run" : first.scenario->name,
            .subtitle = fmt::format("{}, seed {}", runs.size() > 1 ? fmt::format("{} alternatives", runs.size()) : fleet_line(*first.scenario),
                                    first.scenario->seed),
            .warnings = {},
            .sections = {}};
  if (runs.size() > 1) page.sections.push_back(comparison_section(runs));
  for (const RecordedRun& run : runs) {
    for (const std::string& warning : run_warnings(*run.scenario, *run.result)) page.warnings.push_back(named(run, warning));
    page.sections.push_back(summary_section(run));
  }
  Section latency{"Latency", {}};
  latency.blocks.push_back(latency_curve("TTFT", "time to first token", runs, &RunRecord::ttft, slo.ttft));
  latency.blocks.push_back(latency_curve("TPOT", "time per output token", runs, &RunRecord::tpot, slo.tpot));
  latency.blocks.push_back(latency_curve("E2EL", "end-to-end latency", runs, &RunRecord::e2el, slo.e2el));
  page.sections.push_back(std::move(latency));

  Section course{"Over time", {}};
  course.blocks.push_back(timeline("Queue", "Requests waiting in the replicas. A queue that keeps growing means too much load.", "requests waiting",
                                   runs, [](const History::Point& p) { return p.waiting; }));
  course.blocks.push_back(timeline("Batch", "Sequences running in all replicas of a pool.", "sequences running", runs,
                                   [](const History::Point& p) { return p.running; }));
  course.blocks.push_back(timeline("KV cache use", "Share of KV blocks that running requests hold.", "KV blocks used, %", runs,
                                   [](const History::Point& p) { return 100 * p.kv_usage; }));
  page.sections.push_back(std::move(course));

  Section limits{"What limits it", {}};
  limits.blocks.push_back(causes_chart(runs));
  add_rooflines(limits, runs);
  page.sections.push_back(std::move(limits));

  Section scenario{"Scenario", {}};
  scenario.blocks.push_back(Paragraph{"Every default written out; saved to a file, each runs again and gives the same answer."});
  for (const RecordedRun& run : runs) {
    scenario.blocks.push_back(Verbatim{named(run, "resolved scenario"), to_json(run.scenario->resolved).dump(2)});
  }
  page.sections.push_back(std::move(scenario));
  return page;
}

}  // namespace ridgeline::html
