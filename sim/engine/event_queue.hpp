// The heart of the simulator: a total order of events (time, phase, sequence).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace ridgeline {

/// What happens first among events of one instant: state changes precede decisions, which precede observations.
enum class Phase : std::uint8_t {
  complete,  ///< a step or transfer ends
  arrive,    ///< a request enters the cluster
  route,     ///< a request reaches its replica
  plan,      ///< a replica forms its next step, having seen everything of this instant
  observe,   ///< statistics look at the settled state
};

/// Something that events wake. Owned by the simulation's builder; must outlive the queue's use of it.
class Process {
 public:
  virtual ~Process() = default;
  /// Called at `now` with the token given to `schedule`.
  virtual void wake(Time now, std::uint64_t token) = 0;
  /// For error messages.
  [[nodiscard]] virtual std::string_view name() const = 0;
};

/// A binary heap on (Time, Phase, sequence): equal time and phase run first-in first-out.
class EventQueue {
 public:
  /// Throws InternalError, naming the process, when `at` lies in the past.
  void schedule(Time at, Phase phase, Process& process, std::uint64_t token = 0);

  /// Runs the earliest event; false when none is left.
  /// Throws InternalError when more than ten million events pile up at one instant.
  bool run_next();

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// True when an event of this instant with a phase before `phase` still waits.
  [[nodiscard]] bool pending_before(Phase phase) const {
    return !heap_.empty() && heap_.front().at == now_ && heap_.front().order < order_of(phase, 0);
  }
  [[nodiscard]] std::uint64_t events_run() const { return events_run_; }
  /// Hash over (time, phase, process name) of every event run so far: equal runs have equal fingerprints.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Event {
    Time at;
    std::uint64_t order;  // phase in the top byte, then the sequence number
    Process* process;
    std::uint64_t token;
  };
  static constexpr std::uint64_t order_of(Phase phase, std::uint64_t sequence) {
    return (static_cast<std::uint64_t>(phase) << 56) | sequence;
  }
  static bool later(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

  std::vector<Event> heap_;
  Time now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_run_ = 0;
  std::uint64_t events_at_now_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace ridgeline
