// The heart of the simulator: a total order of events (time, phase, process, sequence).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"
#include "sim/base/wide.hpp"

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

/// A heap on (Time, Phase, rank of the process, sequence).
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
    fingerprint_ += mix64(picoseconds(at) ^ (static_cast<std::uint64_t>(phase) << 60));
  }

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return first() == nullptr; }
  /// True when an event of this instant with a phase before `phase` still waits.
  [[nodiscard]] bool pending_before(Phase phase) const {
    const Event* next = first();
    return next != nullptr && next->key < key_of(now_, phase, 0, 0);
  }
  /// State changes so far: events before Phase::plan. Decisions and observations follow from them and do not count.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Hash over (time, phase) of those events: equal runs have equal fingerprints.
  [[nodiscard]] std::uint64_t fingerprint() const { return mix64(fingerprint_); }

 private:
  struct Event {
    UInt128 key;  // what it is ordered by
    Process* process;
    std::uint32_t cancellations;  // of the process when it was scheduled
    std::uint32_t token;
  };
  static constexpr std::uint64_t picoseconds(Time at) { return static_cast<std::uint64_t>(at.since_start().count()); }
  // From the top: 64 bits of time, 4 of phase, 20 of rank, 40 of sequence number.
  static constexpr UInt128 key_of(Time at, Phase phase, std::uint32_t rank, std::uint64_t sequence) {
    const std::uint64_t order = (static_cast<std::uint64_t>(phase) << 60) | (static_cast<std::uint64_t>(rank) << 40) | sequence;
    return (static_cast<UInt128>(picoseconds(at)) << 64) | order;
  }
  static constexpr Time time_of(const Event& event) { return Time{Duration{static_cast<std::int64_t>(event.key >> 64)}}; }
  static constexpr Phase phase_of(const Event& event) { return static_cast<Phase>((event.key >> 60) & 0xf); }

  [[nodiscard]] const Event* first() const;
  void sift_up(const Event& event, std::size_t place);
  void sift_down(const Event& event);

  // Each event comes before its four children, at 4i + 1 … 4i + 4. The place of the event in progress stays open at the root:
  // mostly its process schedules the next one, which goes down from there.
  std::vector<Event> heap_;
  bool root_open_ = false;
  Time now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t events_at_now_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace ridgeline
