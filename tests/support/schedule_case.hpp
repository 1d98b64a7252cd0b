// Schedule cases: a folder with config.json, requests.csv and the step log that the real engine's scheduler gives.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline::test {

/// What a case asks for.
struct ScheduleCase {
  EngineConfig engine;
  Duration step_time;
  std::vector<RequestSpec> requests;  ///< in order of rows
};

/// One row of results.csv.
struct ScheduleResult {
  Duration ttft;
  Duration e2el;
  double tpot = 0.0;  ///< seconds; 0 for one-token outputs
  std::int32_t preemptions = 0;
};

/// What a scheduler made of a case.
struct ScheduleOutcome {
  std::string step_log;                 ///< text of expected.csv
  std::vector<ScheduleResult> results;  ///< by row
};

/// Reads config.json and requests.csv of a case folder. Throws std::runtime_error for a key it doesn't know.
ScheduleCase load_schedule_case(const std::filesystem::path& folder);

/// Drives the scheduler as a replica with a constant step time would. Throws InternalError when the scheduler hangs.
ScheduleOutcome run_schedule(const ScheduleCase& scenario, Scheduler& scheduler);

/// The same with the built-in scheduler that `engine.scheduler` names.
ScheduleOutcome run_schedule(const ScheduleCase& scenario);

/// Folders named `<prefix>...` in `cases`, sorted; all flavours of one engine.
std::vector<std::filesystem::path> schedule_case_folders(const std::filesystem::path& cases, const std::string& prefix);

/// "" when the outcome equals expected.csv and results.csv, else the first difference with a few lines before it.
std::string difference(const std::filesystem::path& folder, const ScheduleOutcome& outcome);

}  // namespace ridgeline::test
