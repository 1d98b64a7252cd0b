// The CSV that `ridgeline calibrate` and `ridgeline validate operators` read: one file per operator family, machine facts in
// comment lines at the top.
#pragma once

#include <ostream>
#include <string>

#include "hardware/calibration/samples.hpp"
#include "hardware/calibration/sweep.hpp"

namespace ridgeline::harness {

/// What produced the numbers.
struct Machine {
  std::string gpu;     ///< catalog name, or the driver's name when --gpu was not given
  std::string driver;  ///< and CUDA run time
  int gpus = 1;
  double sm_clock_mhz = 0;      ///< while measuring; 0 = NVML absent
  double memory_clock_mhz = 0;
  double power_limit_watts = 0;
};

/// The comment lines, each starting with '#'.
void write_header(std::ostream& out, const Machine& machine);

void write_gemm_columns(std::ostream& out);
void write_attention_columns(std::ostream& out);
void write_elementwise_columns(std::ostream& out);
void write_bandwidth_columns(std::ostream& out);
void write_collective_columns(std::ostream& out);

void write_row(std::ostream& out, const Machine& machine, const GemmCase& gemm, const Estimate& time, const std::string& source);
void write_row(std::ostream& out, const Machine& machine, const AttentionCase& attention, const Estimate& time,
               const std::string& source);
void write_row(std::ostream& out, const Machine& machine, const ElementwiseCase& elementwise, const Estimate& time,
               const std::string& source);
void write_row(std::ostream& out, const Machine& machine, const BandwidthCase& bandwidth, const Estimate& time,
               const std::string& source);
void write_row(std::ostream& out, const Machine& machine, const CollectiveCase& collective, const Estimate& time,
               const std::string& source);

/// Traffic of an element-wise kernel if every tensor moves once.
std::size_t ideal_bytes(const ElementwiseCase& elementwise);

}  // namespace ridgeline::harness
