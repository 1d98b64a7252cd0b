// The library side of `ridgeline calibrate`: measured operator calls in, one GPU's calibration file out.
//
// A family plugs in as one row of `calibration_families()` (calibrate.cpp): which measurements are its own and how to fit them.
// Most build a FitProblem and call `fit_family`. Families run in the table's order and may look at what has been fitted
// before (activation quantisation needs the 16-bit product).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/fit.hpp"
#include "hardware/gpu.hpp"
#include "hardware/measurement.hpp"

namespace ridgeline {

/// Residuals of the rows of one shape, by the fit that did not see them where there is one.
struct GroupResidual {
  std::string name;
  std::size_t rows = 0;
  double mape = 0.0;
  double bias = 0.0;  ///< mean of price / measured - 1: the sign says which way
};

struct RowResidual {
  std::string where;  ///< FILE:LINE
  std::string group;
  double measured_us = 0.0;
  double priced_us = 0.0;
};

/// One section of the calibration file and how it was obtained.
struct FamilyCalibration {
  std::string section;   ///< key in the file: "gemm", "moe_fp8", …
  std::string source;    ///< of the rows; several are joined by ", "
  std::size_t rows = 0;
  FitError in_sample;
  FitError unseen;                          ///< cross-validated by whole shapes
  std::vector<FittedParameter> parameters;  ///< of this section, in the file's order
  std::vector<std::string> fixed_lines;     ///< further "key: value" lines of `parameters`
  std::vector<GroupResidual> groups;        ///< worst first
  std::vector<RowResidual> worst;           ///< the five rows that are furthest off
};

struct CalibrationReport {
  GpuSpec gpu;
  std::vector<FamilyCalibration> families;
  std::vector<SkippedRows> skipped;  ///< rows that no family takes, or of families that could not be fitted, by reason

  [[nodiscard]] const FamilyCalibration* find(std::string_view section) const;
};

struct CalibrateOptions {
  std::string gpu;     ///< label of the rows to use; empty: the file must hold one GPU only
  std::string source;  ///< prefix of the sources to use; empty: all
  FitOptions fit;
};

using MeasuredRows = std::vector<const Measurement*>;

struct CalibrationFamily {
  std::string_view name;
  bool (*takes)(const Measurement& row);
  /// Fits the rows, one number format or kernel after the other. Families whose rows are too few are reported as skipped.
  void (*fit)(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options);
};

/// Every family that can be calibrated, in order.
std::span<const CalibrationFamily> calibration_families();

/// Fits `problem`, whose rows are `rows` in the same order, and describes the result.
FamilyCalibration fit_family(std::string section, const FitProblem& problem, const MeasuredRows& rows, const FitOptions& options);

/// Throws ConfigError: no rows, several GPUs without `gpu`, a GPU that the catalog does not have.
CalibrationReport calibrate(const Measurements& measurements, const CalibrateOptions& options);

/// The calibration file, readable by `load_calibration`.
std::string to_yaml(const CalibrationReport& report);
/// One section of it.
std::string to_yaml(const FamilyCalibration& family);

}  // namespace ridgeline
