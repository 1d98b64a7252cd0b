// Predictions beside measurements: single figures, and their errors by group. What `validate serving` and `validate requests` share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hardware/measurement.hpp"

namespace ridgeline {

/// One measured figure and what the simulation says. Both in the unit of the metric (ms, tokens/s, requests/s).
struct ValidatedFigure {
  std::string file;
  int line = 0;
  std::string id;     ///< what the file calls the run
  std::string gpu;    ///< catalog name
  std::string engine; ///< profile
  std::string model;  ///< catalog name
  std::string kind;   ///< dense or moe
  int tp = 1;
  std::string quality;
  std::string metric;
  double measured = 0.0;
  double predicted = 0.0;

  [[nodiscard]] double error() const { return predicted / measured - 1.0; }
};

/// Figures of one (gpu, engine, model, kind, tp, metric). Errors are fractions of the measured value.
struct FigureGroup {
  std::string gpu, engine, model, kind;
  int tp = 1;
  std::string metric;
  std::size_t rows = 0;
  double median = 0.0;  ///< of absolute errors
  double p90 = 0.0;     ///< of absolute errors
  double bias = 0.0;    ///< median signed error
};

struct FigureValidation {
  std::vector<ValidatedFigure> figures;  ///< in file order
  std::vector<SkippedRows> skipped;      ///< in order of first appearance

  void skip(const std::string& reason, std::size_t count = 1);
};

/// Linear interpolation between order statistics (numpy's rule); `sorted` must not be empty, `share` in [0, 1].
double quantile(const std::vector<double>& sorted, double share);

/// In order of first appearance.
std::vector<FigureGroup> group_figures(const std::vector<ValidatedFigure>& figures);

/// The same, over engines, models and degrees of tensor parallelism: one row per (gpu, kind, metric).
std::vector<FigureGroup> summarise_figures(const std::vector<ValidatedFigure>& figures);

/// {"groups": [{gpu, engine, model, kind, tp, metric, rows, median, p90, bias}], "summary": [...], "skipped": [{reason, rows}]}
std::string to_json(const FigureValidation& validation);

/// One line per figure: file,line,id,gpu,engine,model,kind,tp,quality,metric,measured,predicted,error
std::string figures_csv(const FigureValidation& validation);

}  // namespace ridgeline
