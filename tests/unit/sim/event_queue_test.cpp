#include "sim/engine/event_queue.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

struct Recorder : Process {
  explicit Recorder(std::string& log_, char letter_) : log(log_), letter(letter_) {}
  void wake(Time, std::uint32_t token) override { log += letter, log += std::to_string(token); }
  [[nodiscard]] std::string_view name() const override { return "recorder"; }
  std::string& log;
  char letter;
};

}  // namespace

TEST_CASE("events of one instant run by phase, then first in first out") {
  EventQueue queue;
  std::string log;
  Recorder a(log, 'a');
  Recorder b(log, 'b');
  const Time soon{Duration::nanoseconds(1)};
  queue.schedule(soon, Phase::plan, a, 1);
  queue.schedule(soon, Phase::arrive, b, 2);
  queue.schedule(soon, Phase::arrive, a, 3);
  queue.schedule(soon, Phase::complete, b, 4);
  queue.schedule(Time{}, Phase::observe, a, 5);
  while (queue.run_next()) {
  }
  CHECK(log == "a5b4b2a3a1");
  CHECK(queue.now() == soon);
}

TEST_CASE("an event in the past is our bug and names the process") {
  EventQueue queue;
  std::string log;
  Recorder a(log, 'a');
  queue.schedule(Time{Duration::seconds(1)}, Phase::plan, a);
  queue.run_next();
  CHECK_THROWS_WITH(queue.schedule(Time{}, Phase::plan, a), Catch::Contains("recorder"));
}
