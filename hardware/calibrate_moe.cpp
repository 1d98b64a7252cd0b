// Expert layers, one section per number format.
#include <map>

#include "hardware/calibrate_families.hpp"
#include "hardware/moe_fit.hpp"

namespace ridgeline {

bool takes_moe(const Measurement& row) {
  return std::holds_alternative<MoeShape>(row.work.shape) && format_suffix(row.dtype).has_value();
}

void calibrate_moe(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options) {
  std::map<std::string, MeasuredRows> formats;
  for (const Measurement* row : rows) formats[*format_suffix(row->dtype)].push_back(row);
  for (const auto& [suffix, format] : formats) {
    std::vector<MoeMeasurement> measured;
    for (const Measurement* row : format) measured.push_back({std::get<MoeShape>(row->work.shape), row->time.microseconds()});
    const FitProblem problem = moe_problem(report.gpu, std::move(measured));
    report.families.push_back(fit_family("moe" + suffix, problem, format, options));
  }
}

}  // namespace ridgeline
