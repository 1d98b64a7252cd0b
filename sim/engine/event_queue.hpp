// The heart of the simulator: a total order of events (time, phase, process, sequence).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/rng.hpp"
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
  /// `rank` orders events of one instant and phase among processes, smaller first; equal ranks run first-in first-out.
  /// At most a million ranks.
  explicit Process(std::uint32_t rank = 0) : rank_(rank) {
    if (rank >= (1U << 20)) throw InternalError("too many processes");
  }
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Called at `now` with the token given to `schedule`.
  virtual void wake(Time now, std::uint32_t token) = 0;
  /// For error messages.
  [[nodiscard]] virtual std::string_view name() const = 0;

 private:
  friend class EventQueue;
  std::uint32_t rank_;
  std::uint32_t cancellations_ = 0;
};

/// A binary heap on (Time, Phase, rank of the process, sequence).
class EventQueue {
 public:
  /// Throws InternalError, naming the process, when `at` lies in the past.
  void schedule(Time at, Phase phase, Process& process, std::uint32_t token = 0);
  /// Everything scheduled for the process so far will not happen.
  static void cancel(Process& process) { ++process.cancellations_; }

  /// Runs the earliest event; false when none is left.
  /// Throws InternalError when more than ten million events pile up at one instant.
  bool run_next();

  /// A process has itself settled what would have been an event at `at`, a time that has passed or is now.
  void settled(Time at, Phase phase) {
    ++events_;
    fingerprint_ += combine64(static_cast<std::uint64_t>(phase), static_cast<std::uint64_t>(at.since_start().count()));
  }

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// True when an event of this instant with a phase before `phase` still waits.
  [[nodiscard]] bool pending_before(Phase phase) const {
    return !heap_.empty() && heap_.front().at == now_ && heap_.front().order < order_of(phase, 0, 0);
  }
  /// State changes so far: events before Phase::plan. Decisions and observations follow from them and do not count.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Hash over (time, phase) of those events: equal runs have equal fingerprints.
  [[nodiscard]] std::uint64_t fingerprint() const { return mix64(fingerprint_); }

 private:
  struct Event {
    Time at;
    std::uint64_t order;
    Process* process;
    std::uint32_t cancellations;  // of the process when it was scheduled
    std::uint32_t token;
  };
  // From the top: 4 bits of phase, 20 of rank, 40 of sequence number.
  static constexpr std::uint64_t order_of(Phase phase, std::uint32_t rank, std::uint64_t sequence) {
    return (static_cast<std::uint64_t>(phase) << 60) | (static_cast<std::uint64_t>(rank) << 40) | sequence;
  }
  static constexpr Phase phase_of(const Event& event) { return static_cast<Phase>(event.order >> 60); }
  static bool later(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

  std::vector<Event> heap_;
  Time now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t events_at_now_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace ridgeline
