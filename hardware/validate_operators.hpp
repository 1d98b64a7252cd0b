// Prices against measurements: how far the operator models are off, per GPU, operator, number format and campaign.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/measurement.hpp"

namespace ridgeline {

/// One measured call and what the models say.
struct ValidatedRow {
  std::string file;
  int line = 0;
  std::string gpu;
  std::string op;
  std::string dtype;
  std::string source;
  std::string label;
  std::string shape;  ///< short text: "m=16 n=4096 k=4096"
  Duration measured;
  Duration predicted;
  Duration roofline;  ///< datasheet peaks only
  Provenance provenance = Provenance::datasheet;

  [[nodiscard]] double error() const { return predicted.as_double() / measured.as_double() - 1.0; }
  [[nodiscard]] double roofline_error() const { return roofline.as_double() / measured.as_double() - 1.0; }
};

/// Rows of one (gpu, op, dtype, source). Errors are fractions of the measured time.
struct OperatorGroup {
  std::string gpu;
  std::string op;
  std::string dtype;
  std::string source;
  std::size_t rows = 0;
  double mape = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double roofline_mape = 0.0;
  std::vector<std::size_t> worst;  ///< up to five rows of OperatorValidation::rows, worst first
};

struct OperatorValidation {
  std::vector<ValidatedRow> rows;    ///< in file order
  std::vector<OperatorGroup> groups; ///< in order of first appearance
  std::vector<SkippedRows> skipped;
};

/// Prices every row of the files with the catalog's calibration of its GPU. Throws ConfigError for files that can't be read.
OperatorValidation validate_operators(const std::vector<std::filesystem::path>& files);
OperatorValidation validate_operators(Measurements measurements);

/// {"groups": [{gpu, op, dtype, source, rows, mape, median, p90, roofline_mape}], "skipped": [{reason, rows}]}
std::string to_json(const OperatorValidation& validation);

}  // namespace ridgeline
