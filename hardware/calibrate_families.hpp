// The families behind `calibration_families()`; one pair of functions each, see hardware/calibrate.hpp.
#pragma once

#include "hardware/calibrate.hpp"

namespace ridgeline {

bool takes_gemm(const Measurement& row);
void calibrate_gemm(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options);

bool takes_attention(const Measurement& row);
void calibrate_attention(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options);

bool takes_moe(const Measurement& row);
void calibrate_moe(const MeasuredRows& rows, CalibrationReport& report, const FitOptions& options);

/// How a number format names its sections: "" for 16 bits, "_fp8", "_fp8_block", "_fp4". Empty optional: none.
std::optional<std::string> format_suffix(const std::string& dtype);

}  // namespace ridgeline
