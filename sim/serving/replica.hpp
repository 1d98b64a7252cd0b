// A replica: one engine on its GPUs. Mechanism only: it asks the scheduler what runs, charges the time, passes facts on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cost/seams.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/serving/facts.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// What a replica tells its cluster.
class ReplicaOwner {
 public:
  virtual ~ReplicaOwner() = default;
  /// The request's first token is out.
  virtual void request_started_output(Request& request) = 0;
  /// The request left the replica for good; its storage may be reused after the call.
  virtual void request_finished(Request& request, Time now) = 0;
  /// Queue, batch or KV use changed.
  virtual void replica_changed(ReplicaId replica) = 0;
};

/// Fixed facts about a replica.
struct ReplicaSetup {
  ReplicaId id;
  PoolId pool;
  std::string name;             ///< "h100[3]", for messages and logs
  HostLink host_link;           ///< of each GPU, for KV swapped to host memory and back
  bool log_steps = false;       ///< keep per-request rows of every step for observers
  bool single_steps = false;    ///< every step is an event
};

/// One event a step, or, where the scheduler is sure of the next decode steps, one event for all of them: the replica prices
/// them ahead, and if a request arrives on the way, it takes those that have ended by then and looks ahead anew.
class Replica final : public Process, private SchedulerListener {
 public:
  Replica(ReplicaSetup setup, EventQueue& queue, std::unique_ptr<Scheduler> scheduler, std::shared_ptr<StepCost> cost,
          std::vector<Observer*> observers, ReplicaOwner& owner);

  /// From now on every step is an event. Observers that do not take runs of steps have the same effect.
  void take_single_steps() { takes_runs_ = false; }

  /// A request was routed here. It is seen by the next plan, at the earliest one of this instant.
  void enqueue(Request& request, Time now);

  void wake(Time now, std::uint32_t token) override;
  [[nodiscard]] std::string_view name() const override { return setup_.name; }
  [[nodiscard]] SchedulerLoad load() const { return scheduler_->load(); }
  [[nodiscard]] ReplicaId id() const { return setup_.id; }
  [[nodiscard]] PoolId pool() const { return setup_.pool; }

 private:
  // Tokens of our own events.
  static constexpr std::uint32_t wake_to_plan = 0;
  static constexpr std::uint32_t wake_to_complete = 1;
  static constexpr std::uint32_t wake_by_timer = 2;  // the scheduler asked for it

  struct StepInFlight {
    StepPlan plan;
    Time start;
    TimedStep timed;
  };
  /// Step `place` in flight, 0 = the oldest. The place behind the newest is free to be filled.
  StepInFlight& in_flight(std::size_t place) { return slots_[(oldest_ + place) & (slots_.size() - 1)]; }

  void plan_steps(Time now);
  void plan_later(Time now);
  void set_timer(Time now);
  void tell_kv_moves(const StepPlan& plan);
  void complete_step(Time now);
  StepPrice price_of(const StepPlan& plan);
  /// When the step that is being planned begins: engines that schedule ahead plan it while another runs.
  [[nodiscard]] Time planned_start() { return steps_in_flight_ == 0 ? now_ : in_flight(steps_in_flight_ - 1).timed.end; }

  // Runs of decode steps (replica_run.cpp).
  void await_step_end();
  void look_ahead();
  void grow(BatchShape& batch) const;
  void pass_whole_run();
  void pass_steps(std::size_t steps);
  void tell_run(std::size_t steps);
  void take_from_run(std::size_t steps);
  void interrupt_run(Time now);

  void admitted(Request& request, Tokens cached) override;
  void preempted(Request& request) override;
  void offloaded(const HostTraffic& started) override;
  void cache_evicted(std::int64_t blocks) override;
  void first_token(Request& request) override;
  void chunks(std::int64_t sequences, std::int64_t tokens, Time previous) override;
  void verified(const DraftsVerified& drafts) override;
  void finished(Request& request) override;

  ReplicaSetup setup_;
  EventQueue& queue_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<StepCost> cost_;
  std::vector<Observer*> observers_;
  ReplicaOwner& owner_;
  bool takes_runs_;

  // A ring of a power of two: no allocation in steady state.
  std::vector<StepInFlight> slots_;
  std::size_t oldest_ = 0;
  std::size_t steps_in_flight_ = 0;
  std::size_t most_in_flight_;

  // The steps in flight and those that are sure to follow; empty when each step is taken by itself.
  std::vector<TimedStep> run_;
  DecodesAhead ahead_;
  std::int64_t reach_ = 8;  // how many steps to look ahead: longer when whole runs are taken, shorter when they are interrupted

  bool plan_pending_ = false;
  Time timer_;                           // the latest timer set; an earlier one may still come and does no harm
  Time now_;                             // of the call in progress, for listener call-backs
  Time last_end_;                        // of a step
  std::int64_t steps_ = 0;
};

}  // namespace ridgeline
