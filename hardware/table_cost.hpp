// Prices read off a measured table: for those who measured their own GPU and want exactly that.
//
// Rows of the same operator and number format form a grid; between measured points the time is interpolated linearly in the
// logarithms of size and time. Grids: GEMM over m for each (n, k); elementwise over rows for each width; collectives over bytes
// for each (kind, ranks, in a graph); decode attention over (sequences, mean context) and prefill attention over (prompts,
// history, new tokens) for each head configuration and KV format. A mixed step is the sum of both. What lies outside the
// table is priced by the fallback model, and its provenance says so.
#pragma once

#include <filesystem>
#include <memory>

#include "hardware/gpu.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

/// Uses the rows of `file` that were measured on `gpu`; several rows of one shape: their median. Throws ConfigError: unreadable file,
/// or no row of this GPU.
std::unique_ptr<DeviceModel> make_table_model(const std::filesystem::path& file, const GpuSpec& gpu,
                                              std::unique_ptr<DeviceModel> fallback);

}  // namespace ridgeline
