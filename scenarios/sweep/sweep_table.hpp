// What became of every point of a sweep: plain data for CSV, tables, databases and pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

enum class PointStatus : std::uint8_t {
  ok,          ///< ran to its end
  skipped,     ///< a skip rule holds
  infeasible,  ///< can't be built: the model does not fit, the heads do not divide, a value is out of range
  failed,      ///< could be built but not run to its end: a bad trace row, a request no replica can hold
  error,       ///< our bug
};

std::string_view to_string(PointStatus status);
/// Throws InternalError for what `to_string` never says.
PointStatus point_status(std::string_view text);

/// The outcome of one run.
struct PointOutcome {
  PointStatus status = PointStatus::ok;
  std::string reason;                          ///< empty when ok
  std::vector<std::optional<double>> metrics;  ///< in the order of `metrics()` (scenarios/study/metric.hpp); empty unless ok
  std::optional<bool> saturated;
  std::optional<bool> slo_met;                 ///< null when no objective is judged
};

struct SweepRow {
  std::string label;
  std::vector<std::string> values;  ///< by axis
  std::string key;                  ///< of the result: a hash of the resolved scenario, its files and the version
  PointOutcome outcome;
};

struct SweepTable {
  std::string name;               ///< the scenario's
  std::vector<std::string> axes;  ///< key paths, and "alternative"
  std::vector<SweepRow> rows;     ///< in the order of the points
};

}  // namespace ridgeline
