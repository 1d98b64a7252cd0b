// A replica: one engine on its GPUs. Mechanism only: it asks the scheduler what runs, charges the time, passes facts on.
#pragma once

#include <cstdint>
#include <deque>
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
  BytesPerSecond host_link;     ///< for KV swapped to or fetched from host memory; 0 = the engine never does
  bool log_steps = false;       ///< keep per-request rows of every step for observers
};

class Replica final : public Process, private SchedulerListener {
 public:
  Replica(ReplicaSetup setup, EventQueue& queue, std::unique_ptr<Scheduler> scheduler, std::shared_ptr<StepCost> cost,
          std::vector<Observer*> observers, ReplicaOwner& owner);

  /// A request was routed here. It is seen by the next plan, at the earliest one of this instant.
  void enqueue(Request& request, Time now);

  void wake(Time now, std::uint64_t token) override;
  [[nodiscard]] std::string_view name() const override { return setup_.name; }
  [[nodiscard]] SchedulerLoad load() const { return scheduler_->load(); }
  [[nodiscard]] ReplicaId id() const { return setup_.id; }
  [[nodiscard]] PoolId pool() const { return setup_.pool; }

 private:
  // Tokens of our own events.
  static constexpr std::uint64_t wake_to_plan = 0;
  static constexpr std::uint64_t wake_to_complete = 1;
  static constexpr std::uint64_t wake_by_timer = 2;  // the scheduler asked for it

  struct StepInFlight {
    StepPlan plan;
    StepPrice price;
    Time start;
    Time end;
    SchedulerLoad planned;
  };

  void plan_steps(Time now);
  void set_timer(Time now);
  void complete_step(Time now);
  StepPrice price_of(const StepPlan& plan);
  /// When the step that is being planned begins: engines that schedule ahead plan it while another runs.
  [[nodiscard]] Time planned_start() const { return in_flight_.empty() ? now_ : in_flight_.back().end; }

  void admitted(Request& request, Tokens cached) override;
  void preempted(Request& request) override;
  void first_token(Request& request) override;
  void chunks(std::int64_t sequences, std::int64_t tokens, Time previous) override;
  void finished(Request& request) override;

  ReplicaSetup setup_;
  EventQueue& queue_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<StepCost> cost_;
  std::vector<Observer*> observers_;
  ReplicaOwner& owner_;

  std::deque<StepInFlight> in_flight_;   // oldest first; at most scheduler_->steps_in_flight()
  std::vector<StepInFlight> spare_;      // recycled, so that steady state allocates nothing
  bool plan_pending_ = false;
  Time timer_;                           // the latest timer set; an earlier one may still come and does no harm
  Time now_;                             // of the call in progress, for listener call-backs
  std::int64_t steps_ = 0;
};

}  // namespace ridgeline
