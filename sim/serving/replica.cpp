#include "sim/serving/replica.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

Replica::Replica(ReplicaSetup setup, EventQueue& queue, std::unique_ptr<Scheduler> scheduler, std::shared_ptr<StepCost> cost,
                 std::vector<Observer*> observers, ReplicaOwner& owner)
    : setup_(std::move(setup)),
      queue_(queue),
      scheduler_(std::move(scheduler)),
      cost_(std::move(cost)),
      observers_(std::move(observers)),
      owner_(owner) {
  scheduler_->keep_rows(setup_.log_steps);
}

void Replica::enqueue(Request& request, Time now) {
  now_ = now;
  scheduler_->add(request, now);
  // A busy engine looks at its queue when a step ends, not before.
  if (in_flight_.empty() && !plan_pending_) {
    plan_pending_ = true;
    queue_.schedule(now, Phase::plan, *this, wake_to_plan);
  }
  owner_.replica_changed(setup_.id);
}

void Replica::wake(Time now, std::uint64_t token) {
  now_ = now;
  if (token == wake_to_complete) {
    complete_step(now);
    // Arrivals of this very instant come first; then the next step sees them.
    if (queue_.pending_before(Phase::plan)) {
      if (!plan_pending_) queue_.schedule(now, Phase::plan, *this, wake_to_plan);
      plan_pending_ = true;
    } else if (!plan_pending_) {
      plan_steps(now);
    }
  } else if (token == wake_to_plan) {
    plan_pending_ = false;
    plan_steps(now);
  } else if (in_flight_.empty() && !plan_pending_) {
    plan_steps(now);
  }
  owner_.replica_changed(setup_.id);
}

void Replica::plan_steps(Time now) {
  while (static_cast<int>(in_flight_.size()) < scheduler_->steps_in_flight()) {
    StepInFlight step;
    if (!spare_.empty()) {
      step = std::move(spare_.back());
      spare_.pop_back();
    }
    step.plan.clear();
    if (!scheduler_->plan(now, step.plan, *this)) {
      spare_.push_back(std::move(step));
      if (in_flight_.empty()) set_timer(now);
      return;
    }
    step.price = price_of(step.plan);
    step.start = planned_start();
    // A step takes at least a picosecond, so that time moves.
    step.end = step.start + std::max<Duration>(step.price.total, Duration::picoseconds(1));
    step.planned = scheduler_->load();
    queue_.schedule(step.end, Phase::complete, *this, wake_to_complete);
    in_flight_.push_back(std::move(step));
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
  const Bytes moved = plan.host_link_in + plan.host_link_out;
  if (moved > Bytes{}) {
    if (setup_.host_link.count() <= 0) throw InternalError("KV moves over a host link that " + setup_.name + " does not have");
    const Duration moving = moved / setup_.host_link;
    price.total += moving;
    price.by_cause[Cause::communication] += moving;
  }
  return price;
}

void Replica::complete_step(Time now) {
  StepInFlight step = std::move(in_flight_.front());
  in_flight_.pop_front();
  ++steps_;
  scheduler_->complete(now, *this);
  const StepDone fact{.pool = setup_.pool,
                      .replica = setup_.id,
                      .step = steps_,
                      .start = step.start,
                      .end = now,
                      .plan = &step.plan,
                      .price = &step.price,
                      .planned = step.planned,
                      .load = scheduler_->load(),
                      .rows = setup_.log_steps ? &scheduler_->rows() : nullptr};
  for (Observer* observer : observers_) observer->step_done(fact);
  spare_.push_back(std::move(step));
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

void Replica::first_token(Request& request) {
  request.first_token = now_;
  for (Observer* observer : observers_) observer->first_token(request, now_);
}

void Replica::chunks(std::int64_t sequences, std::int64_t tokens, Time previous) {
  const ChunksEmitted fact{setup_.pool, now_, now_ - previous, sequences, tokens};
  for (Observer* observer : observers_) observer->chunks(fact);
}

void Replica::finished(Request& request) {
  request.last_token = now_;
  request.emitted = request.spec.output;
  for (Observer* observer : observers_) observer->finished(request, now_);
  owner_.request_finished(request, now_);
}

}  // namespace ridgeline
