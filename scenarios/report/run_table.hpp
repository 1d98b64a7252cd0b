// A run's result for people: one screen of text.
#pragma once

#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

std::string run_table(const Scenario& scenario, const RunResult& result);

/// One of several results set side by side.
struct Compared {
  std::string label;
  Scenario scenario;
  RunResult result;
};

/// Columns are scenarios, rows are figures.
std::string comparison_table(const std::vector<Compared>& results);

/// "FILE:LINE: key: message" lines for what a reader should know; empty when there is nothing.
std::string warning_lines(const Scenario& scenario, const RunResult& result);
/// Those that are known before the run, and those about the workload that were not `told` already.
std::string warning_lines(const Scenario& scenario);
std::string warning_lines(const std::vector<std::string>& workload_warnings, const std::vector<std::string>& told = {});

}  // namespace ridgeline
