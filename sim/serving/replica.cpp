#include "sim/serving/replica.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ridgeline {

Replica::Replica(ReplicaSetup setup, EventQueue& queue, std::unique_ptr<Scheduler> scheduler, std::shared_ptr<StepCost> cost,
                 std::vector<Observer*> observers, ReplicaOwner& owner)
    : Process(setup.id.value() + 1),
      setup_(std::move(setup)),
      queue_(queue),
      scheduler_(std::move(scheduler)),
      cost_(std::move(cost)),
      observers_(std::move(observers)),
      owner_(owner),
      takes_runs_(!setup_.single_steps && !setup_.log_steps &&
                  std::all_of(observers_.begin(), observers_.end(), [](const Observer* one) { return one->takes_runs(); })),
      most_in_flight_(static_cast<std::size_t>(scheduler_->steps_in_flight())) {
  slots_.resize(std::bit_ceil(most_in_flight_ + 1));
  scheduler_->keep_rows(setup_.log_steps);
}

void Replica::enqueue(Request& request, Time now) {
  now_ = now;
  const bool interrupts = !run_.empty();
  if (interrupts) interrupt_run(now);
  scheduler_->add(request, now);
  // A busy engine looks at its queue when a step ends, not before.
  if (steps_in_flight_ == 0) {
    plan_later(now);
  } else if (interrupts && !plan_pending_) {
    await_step_end();
  }
  owner_.replica_changed(setup_.id);
}

void Replica::wake(Time now, std::uint32_t token) {
  now_ = now;
  if (token == wake_to_complete) {
    if (!run_.empty()) pass_whole_run();
    complete_step(now);
    // Arrivals of this very instant come first; then the next step sees them.
    if (queue_.pending_before(Phase::plan)) {
      plan_later(now);
    } else if (!plan_pending_) {
      plan_steps(now);
    }
  } else if (token == wake_to_plan) {
    plan_pending_ = false;
    plan_steps(now);
  } else if (steps_in_flight_ == 0 && !plan_pending_) {
    plan_steps(now);
  }
  owner_.replica_changed(setup_.id);
}

// At this instant, when everything else has happened.
void Replica::plan_later(Time now) {
  if (plan_pending_) return;
  plan_pending_ = true;
  queue_.schedule(now, Phase::plan, *this, wake_to_plan);
}

void Replica::plan_steps(Time now) {
  while (steps_in_flight_ < most_in_flight_) {
    StepInFlight& step = in_flight(steps_in_flight_);
    step.plan.clear();
    if (!scheduler_->plan(now, step.plan, *this)) break;
    step.timed.price = price_of(step.plan);
    step.start = planned_start();
    // A step takes at least a picosecond, so that time moves.
    step.timed.end = step.start + std::max<Duration>(step.timed.price.total, Duration::picoseconds(1));
    step.timed.computed = step.plan.batch.tokens();
    step.timed.planned = scheduler_->load();
    step.timed.waste = step.plan.waste;
    tell_kv_moves(step.plan);
    ++steps_in_flight_;
  }
  if (steps_in_flight_ > 0) {
    await_step_end();
  } else {
    set_timer(now);
  }
}

void Replica::set_timer(Time now) {
  const Time wake = scheduler_->next_wake();
  if (wake == Time::max() || wake == timer_) return;
  if (wake <= now) throw InternalError("a scheduler asks to be woken in the past: " + setup_.name);
  timer_ = wake;
  queue_.schedule(wake, Phase::plan, *this, wake_by_timer);
}

StepPrice Replica::price_of(const StepPlan& plan) {
  StepPrice price = cost_->of(plan.batch);
  // Swaps out, swaps in and kernels share the engine's stream: they take turns.
  const Duration moving = setup_.host_link.time(plan.swapped.out) + setup_.host_link.time(plan.swapped.in);
  price.total += moving;
  price.by_cause[Cause::communication] += moving;
  return price;
}

void Replica::complete_step(Time now) {
  StepInFlight& step = in_flight(0);
  ++steps_;
  last_end_ = now;
  scheduler_->complete(now, *this);
  const StepDone fact{.pool = setup_.pool,
                      .replica = setup_.id,
                      .step = steps_,
                      .start = step.start,
                      .end = now,
                      .plan = &step.plan,
                      .price = &step.timed.price,
                      .planned = step.timed.planned,
                      .load = scheduler_->load(),
                      .waste = step.timed.waste,
                      .rows = setup_.log_steps ? &scheduler_->rows() : nullptr};
  for (Observer* observer : observers_) observer->step_done(fact);
  ++oldest_;
  --steps_in_flight_;
}

void Replica::admitted(Request& request, Tokens cached) {
  if (request.preemptions == 0) request.cached_prompt = cached;
  request.step_start = planned_start();
  for (Observer* observer : observers_) observer->admitted(request, cached, now_);
}

void Replica::preempted(Request& request) {
  ++request.preemptions;
  request.step_start = planned_start();
  for (Observer* observer : observers_) observer->preempted(request, now_);
}

// Told with the plan, since the step may end within a run.
void Replica::tell_kv_moves(const StepPlan& plan) {
  if (plan.swapped.in.blocks + plan.swapped.out.blocks > 0) {
    for (Observer* observer : observers_) observer->swapped(setup_.pool, plan.swapped);
  }
  if (plan.evicted > Tokens{}) {
    for (Observer* observer : observers_) observer->kv_evicted(setup_.pool, plan.evicted);
  }
}

void Replica::offloaded(const HostTraffic& started) {
  for (Observer* observer : observers_) observer->offloaded(setup_.pool, started);
}

void Replica::cache_evicted(std::int64_t blocks) {
  for (Observer* observer : observers_) observer->cache_evicted(setup_.pool, blocks);
}

void Replica::first_token(Request& request) {
  request.first_token = now_;
  for (Observer* observer : observers_) observer->first_token(request, now_);
  owner_.request_started_output(request);
}

void Replica::chunks(std::int64_t sequences, std::int64_t tokens, Time previous) {
  const ChunksEmitted fact{setup_.pool, now_, now_ - previous, sequences, tokens};
  for (Observer* observer : observers_) observer->chunks(fact);
}

void Replica::verified(const DraftsVerified& drafts) {
  for (Observer* observer : observers_) observer->verified(setup_.pool, drafts);
}

void Replica::finished(Request& request) {
  request.last_token = now_;
  request.emitted = request.spec.output;
  for (Observer* observer : observers_) observer->finished(request, now_);
  owner_.request_finished(request, now_);
}

}  // namespace ridgeline
