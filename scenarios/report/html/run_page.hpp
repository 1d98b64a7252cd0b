// The report page of `run`: one scenario, or alternatives side by side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/scenario.hpp"
#include "scenarios/report/html/page.hpp"
#include "scenarios/report/html/run_record.hpp"

namespace ridgeline::html {

struct RecordedRun {
  std::string label;  ///< empty for a single run
  const Scenario* scenario = nullptr;
  const RunResult* result = nullptr;
  std::shared_ptr<const RunRecord> record;
};

/// `runs` is not empty.
Page run_page(const std::vector<RecordedRun>& runs);

}  // namespace ridgeline::html
