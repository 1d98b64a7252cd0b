#include "scenarios/validate/serving.hpp"

#include <map>
#include <optional>

#include "scenarios/build/run.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/validate/serving_scenario.hpp"

namespace ridgeline {

namespace {

double statistic(const Summary& summary, const std::string& name) {
  if (name == "_mean") return summary.mean;
  if (name == "_p90") return summary.p90;
  if (name == "_p95") return summary.p95;
  if (name == "_p99") return summary.p99;
  return summary.median;
}

// What the run says about a metric; nullopt when the run has no such figure (no TPOT of one-token outputs).
std::optional<double> predicted(const RunMetrics& metrics, const std::string& metric) {
  if (metric.starts_with("throughput")) return metrics.output_throughput;
  if (metric.starts_with("total_throughput")) return metrics.total_token_throughput;
  if (metric.starts_with("request_throughput")) return metrics.request_throughput;
  const std::map<std::string, const Summary*> latencies{
      {"ttft", &metrics.ttft}, {"tpot", &metrics.tpot}, {"itl", &metrics.itl}, {"e2e", &metrics.e2el}};
  const std::size_t cut = metric.find('_');
  const Summary& summary = *latencies.at(metric.substr(0, cut));
  if (summary.count == 0) return std::nullopt;
  return statistic(summary, cut == std::string::npos ? std::string() : metric.substr(cut));
}

// Inter-token gaps are comparable only where a chunk is a token: SGLang and TensorRT-LLM stream several, inference-perf
// counts two events a token.
bool comparable(const ServingRow& row, const std::string& engine, const std::string& metric) {
  return !metric.starts_with("itl") || (engine.starts_with("vllm") && row.source.find("inference-sim") == std::string::npos);
}

struct RowOutcome {
  std::vector<ValidatedFigure> figures;
  std::string reason;  ///< when there are none
};

RowOutcome run_row(const ServingRow& row, const std::vector<std::string>& overrides) {
  RowOutcome outcome;
  StatedScenario stated = stated_scenario(row, overrides);
  if (!stated.scenario) return {{}, stated.reason};
  RunMetrics metrics;
  try {
    metrics = run(*stated.scenario).metrics;
  } catch (const ConfigError& error) {
    return {{}, "refused: a request can't be served"};
  }
  for (const RowFigure& figure : row.figures) {
    if (!comparable(row, stated.engine, figure.metric)) continue;
    const std::optional<double> value = predicted(metrics, figure.metric);
    if (!value || figure.value <= 0.0) continue;
    const bool from_the_send = figure.metric.starts_with("ttft") || figure.metric.starts_with("e2e");
    const double overhead = from_the_send ? stated.client_overhead.milliseconds() : 0.0;
    outcome.figures.push_back({row.file, row.line, row.id, stated.gpu, stated.engine, stated.model, stated.kind, row.tp, row.quality,
                               figure.metric, figure.value, *value + overhead});
  }
  if (outcome.figures.empty()) outcome.reason = "no figure that can be compared";
  return outcome;
}

}  // namespace

FigureValidation validate_serving(const std::vector<std::filesystem::path>& files, const ServingOptions& options) {
  std::vector<ServingRow> rows;
  for (const auto& file : files) {
    std::vector<ServingRow> of_file = read_serving_rows(file);
    rows.insert(rows.end(), std::make_move_iterator(of_file.begin()), std::make_move_iterator(of_file.end()));
  }
  return validate_serving(rows, options);
}

FigureValidation validate_serving(const std::vector<ServingRow>& rows, const ServingOptions& options) {
  std::vector<RowOutcome> outcomes = parallel_map(rows.size(), options.jobs, [&](std::size_t i) { return run_row(rows[i], options.overrides); }, options.progress);
  FigureValidation validation;
  for (RowOutcome& outcome : outcomes) {
    if (outcome.figures.empty()) validation.skip(outcome.reason);
    for (ValidatedFigure& figure : outcome.figures) validation.figures.push_back(std::move(figure));
  }
  return validation;
}

}  // namespace ridgeline
