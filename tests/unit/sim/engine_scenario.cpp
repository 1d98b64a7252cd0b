#include "tests/unit/sim/engine_scenario.hpp"

#include <algorithm>
#include <sstream>

#include "tests/support/shared_data.hpp"

namespace ridgeline::test {

EngineScenario& EngineScenario::add(std::int64_t input, std::int64_t output, std::int64_t max_tokens, std::int64_t at_step) {
  RequestSpec spec;
  spec.row = static_cast<std::int64_t>(case_.requests.size());
  // A little before the step starts, and after its predecessors in the same step.
  const Duration step_start = Duration::milliseconds(at_step - 1);
  spec.arrival = at_step == 1 ? Time{} : Time{step_start - Duration::nanoseconds(1000 - spec.row)};
  spec.input = Tokens{input};
  spec.output = Tokens{output};
  spec.max_tokens = Tokens{max_tokens > 0 ? max_tokens : output};
  case_.requests.push_back(std::move(spec));
  return *this;
}

EngineScenario& EngineScenario::share(std::size_t request, std::int64_t tokens) {
  case_.requests.at(request).content = std::make_shared<Content>(Content{{hash64("common text"), Tokens{0}, Tokens{tokens}}});
  return *this;
}

EngineScenario& EngineScenario::run() {
  std::istringstream log(run_schedule(case_).step_log);
  std::string line;
  std::getline(log, line);  // header
  while (std::getline(log, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string time, pool, replica;
    LoggedRow row;
    fields >> time >> pool >> replica >> row.step >> row.request >> row.phase >> row.scheduled >> row.computed >> row.output >>
        row.running >> row.waiting >> row.free;
    rows_.push_back(row);
  }
  return *this;
}

std::vector<LoggedRow> EngineScenario::step(std::int64_t number) const {
  std::vector<LoggedRow> rows;
  for (const LoggedRow& row : rows_) {
    if (row.step == number) rows.push_back(row);
  }
  return rows;
}

std::string EngineScenario::batch(std::int64_t number) const {
  std::string text;
  for (const LoggedRow& row : step(number)) {
    if (!text.empty()) text += ", ";
    text += std::to_string(row.request) + ":" + row.phase;
    if (row.phase != "preempted") text += " " + std::to_string(row.scheduled);
  }
  return text;
}

std::int64_t EngineScenario::last_step_of(std::int64_t request) const {
  std::int64_t last = 0;
  for (const LoggedRow& row : rows_) {
    if (row.request == request) last = row.step;
  }
  return last;
}

void check_schedule_cases(const std::string& prefix) {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const auto& folder : schedule_case_folders(shared / "cases" / "schedules", prefix)) {
    INFO(folder.filename().string());
    CHECK(difference(folder, run_schedule(load_schedule_case(folder))) == "");
  }
}

}  // namespace ridgeline::test
