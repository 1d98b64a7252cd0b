#include "sim/engine/event_queue.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

struct Recorder : Process {
  Recorder(std::string& log_, char letter_, std::uint32_t rank = 0) : Process(rank), log(log_), letter(letter_) {}
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

TEST_CASE("ranks order processes within an instant and a phase") {
  EventQueue queue;
  std::string log;
  Recorder late(log, 'l', 2);
  Recorder early(log, 'e', 1);
  queue.schedule(Time{}, Phase::complete, late, 1);
  queue.schedule(Time{}, Phase::complete, early, 2);
  queue.schedule(Time{}, Phase::complete, late, 3);
  while (queue.run_next()) {
  }
  CHECK(log == "e2l1l3");
}

TEST_CASE("cancelled events do not happen and do not count; what is scheduled afterwards does") {
  EventQueue queue;
  std::string log;
  Recorder a(log, 'a');
  Recorder b(log, 'b');
  const Time soon{Duration::nanoseconds(1)};
  queue.schedule(soon, Phase::complete, a, 1);
  queue.schedule(soon, Phase::arrive, b, 2);
  EventQueue::cancel(a);
  queue.schedule(soon, Phase::complete, a, 3);
  while (queue.run_next()) {
  }
  CHECK(log == "a3b2");
  CHECK(queue.events() == 2);
}

TEST_CASE("events settled by their process leave the fingerprint of events that ran, in any order; plans do not count") {
  std::string log;
  Recorder a(log, 'a');
  const auto at = [](std::int64_t ns) { return Time{Duration::nanoseconds(ns)}; };
  EventQueue one_by_one;
  for (const std::int64_t ns : {1, 2, 3}) one_by_one.schedule(at(ns), Phase::complete, a);
  one_by_one.schedule(at(2), Phase::plan, a);
  while (one_by_one.run_next()) {
  }
  EventQueue at_once;
  at_once.schedule(at(3), Phase::complete, a);
  at_once.run_next();
  at_once.settled(at(2), Phase::complete);
  at_once.settled(at(1), Phase::complete);
  CHECK(at_once.events() == 3);
  CHECK(at_once.fingerprint() == one_by_one.fingerprint());
}

// Against a plain sort: many events, times with ties, scheduled before and while others run.
TEST_CASE("the queue runs events in order of time, then of scheduling") {
  struct Chain : Process {
    explicit Chain(EventQueue& queue_) : queue(queue_) {}
    void wake(Time now, std::uint32_t token) override {
      CHECK((now > last || (now == last && token > last_token)));
      last = now, last_token = token, ++woken;
      for (int i = 0; i < 2 && scheduled < 2000; ++i) {
        const auto delay = Duration::nanoseconds(static_cast<std::int64_t>(mix64(++scheduled) % 50));
        queue.schedule(now + delay, Phase::complete, *this, scheduled);
      }
    }
    [[nodiscard]] std::string_view name() const override { return "chain"; }
    EventQueue& queue;
    Time last;
    std::uint32_t last_token = 0, scheduled = 0, woken = 0;
  };
  EventQueue queue;
  Chain chain(queue);
  for (std::int64_t i = 0; i < 100; ++i) queue.schedule(Time{Duration::nanoseconds(i * 37 % 90)}, Phase::complete, chain, ++chain.scheduled);
  while (queue.run_next()) {
  }
  CHECK(chain.woken == 2000);
  CHECK(queue.empty());
}
