// A handful of requests through one built-in scheduler at 1 ms a step, and the step log read back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/serving/engine_config.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schedule_case.hpp"

namespace ridgeline::test {

/// One line of a step log.
struct LoggedRow {
  std::int64_t step = 0;
  std::int64_t request = 0;
  std::string phase;
  std::int64_t scheduled = 0;
  std::int64_t computed = 0;
  std::int64_t output = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t free = 0;
};

/// Requests that are present at step 1, or arrive just before a later step.
class EngineScenario {
 public:
  explicit EngineScenario(EngineConfig engine) {
    case_.engine = std::move(engine);
    case_.step_time = Duration::milliseconds(1);
  }

  /// Named by its place: the first request added is 0. `max_tokens` 0 = `output`.
  EngineScenario& add(std::int64_t input, std::int64_t output, std::int64_t max_tokens = 0, std::int64_t at_step = 1);

  /// The request's first `tokens` tokens are those of one common text.
  EngineScenario& share(std::size_t request, std::int64_t tokens);

  EngineScenario& run();

  [[nodiscard]] std::vector<LoggedRow> step(std::int64_t number) const;
  /// "0:prefill 63, 1:decode 1": what a step scheduled.
  [[nodiscard]] std::string batch(std::int64_t number) const;
  [[nodiscard]] std::int64_t free_after(std::int64_t number) const { return step(number).at(0).free; }
  [[nodiscard]] std::int64_t running_after(std::int64_t number) const { return step(number).at(0).running; }
  [[nodiscard]] std::int64_t waiting_after(std::int64_t number) const { return step(number).at(0).waiting; }
  /// The step in which the request got its last token.
  [[nodiscard]] std::int64_t last_step_of(std::int64_t request) const;

 private:
  ScheduleCase case_;
  std::vector<LoggedRow> rows_;
};

/// Every case folder of the engine gives its expected.csv and results.csv; skips where the folders are absent.
void check_schedule_cases(const std::string& prefix);

}  // namespace ridgeline::test
