// One function per family: measures its cases on the current device and writes their rows.
#pragma once

#include <ostream>

#include "hardware/calibration/rows.hpp"

namespace ridgeline::harness {

void measure_gemm(std::ostream& out, const Machine& machine, const SweepLimits& limits);
void measure_attention(std::ostream& out, const Machine& machine, const SweepLimits& limits);
void measure_elementwise(std::ostream& out, const Machine& machine);
void measure_bandwidth(std::ostream& out, const Machine& machine, const SweepLimits& limits);
/// Launch and graph-replay cost of an empty kernel, as rows of the bandwidth file with 0 bytes.
void measure_launch(std::ostream& out, const Machine& machine);
/// Needs two or more GPUs; built only where NCCL is found.
void measure_collectives(std::ostream& out, const Machine& machine);

/// Largest absolute difference of our attention kernels from a plain host computation on small shapes; above 0.02 they are wrong.
double attention_error();

}  // namespace ridgeline::harness
