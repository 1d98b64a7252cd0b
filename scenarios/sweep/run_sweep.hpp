// A sweep from its document to its table: expand, judge, look up what is stored, run the rest on all cores.
#pragma once

#include <cstddef>
#include <functional>

#include "scenarios/sweep/sweep_table.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

class SweepStore;

struct SweepOptions {
  std::size_t jobs = 1;
  SweepStore* store = nullptr;  ///< results are taken from it and put into it; may be null
  /// Runs done and wanted, those taken from the store included in both; `stored` says how many these are. Never from two threads at once.
  std::function<void(std::size_t done, std::size_t wanted, std::size_t stored)> progress;
};

/// The table is the same for any number of jobs and whatever was stored. Equal points are run once.
/// Throws ConfigError: a malformed sweep or skip rule, and the first point's reason when every point is infeasible or failed. Mistakes and failures
/// of single points are rows.
SweepTable run_sweep(const Config& document, const SweepOptions& options);

}  // namespace ridgeline
