// Runs of decode steps: priced ahead, taken at once.
#include <algorithm>

#include "sim/serving/replica.hpp"

namespace ridgeline {

namespace {

// How far it pays to look ahead: further than the next arrival, the work is for nothing.
constexpr std::int64_t least_ahead = 4;
constexpr std::int64_t most_ahead = 64;

}  // namespace

// Schedules the end of the oldest step in flight, or of the run that it begins.
void Replica::await_step_end() {
  if (takes_runs_ && steps_in_flight_ == most_in_flight_) look_ahead();
  const std::size_t passed = run_.empty() ? 0 : run_.size() - most_in_flight_;
  queue_.schedule(passed == 0 ? in_flight(0).timed.end : run_[passed].end, Phase::complete, *this, wake_to_complete);
}

void Replica::look_ahead() {
  scheduler_->look_ahead(reach_, ahead_);
  if (ahead_.steps() == 0) return;
  for (std::size_t place = 0; place < steps_in_flight_; ++place) run_.push_back(in_flight(place).timed);
  BatchShape batch = in_flight(steps_in_flight_ - 1).plan.batch;
  TimedStep step = run_.back();
  step.planned = ahead_.load;
  for (const std::int64_t free_blocks : ahead_.free_blocks) {
    grow(batch);
    step.price = cost_->of(batch);
    step.end += std::max<Duration>(step.price.total, Duration::picoseconds(1));
    if (step.waste) {
      const std::int64_t taken = step.planned.free_blocks - free_blocks;
      step.waste->internal += Tokens{taken * ahead_.block_size - batch.decode_sequences};
    }
    step.planned.free_blocks = free_blocks;
    run_.push_back(step);
  }
}

// One token more for each sequence.
void Replica::grow(BatchShape& batch) const {
  batch.decode_context += batch.decode_queries;
  batch.decode_context_in_window += ahead_.growth_in_window;
}

// Nothing came in between: it may pay to look further.
void Replica::pass_whole_run() {
  const std::size_t steps = run_.size() - most_in_flight_;
  if (static_cast<std::int64_t>(steps) == reach_) reach_ = std::min(2 * reach_, most_ahead);
  pass_steps(steps);
}

// The first `steps` of the run have ended: those behind them are in flight now, the rest is forgotten.
void Replica::pass_steps(std::size_t steps) {
  if (steps > 0) {
    const Time end = run_[steps - 1].end;
    scheduler_->pass(static_cast<std::int64_t>(steps), end);
    tell_run(steps);
    take_from_run(steps);
    steps_ += static_cast<std::int64_t>(steps);
    last_end_ = end;
  }
  run_.clear();
}

void Replica::tell_run(std::size_t steps) {
  const DecodeRun fact{.pool = setup_.pool,
                       .replica = setup_.id,
                       .start = in_flight(0).start,
                       .previous = last_end_,
                       .sequences = in_flight(steps_in_flight_ - 1).plan.batch.decode_sequences,
                       .steps = {run_.data(), steps}};
  for (Observer* observer : observers_) observer->run_done(fact);
  for (const TimedStep& step : fact.steps) queue_.settled(step.end, Phase::complete);
}

void Replica::take_from_run(std::size_t steps) {
  BatchShape batch = in_flight(steps_in_flight_ - 1).plan.batch;
  std::size_t grown = steps_in_flight_ - 1;  // place in the run of the step that `batch` describes
  oldest_ += steps;
  for (std::size_t place = 0; place < steps_in_flight_; ++place) {
    const std::size_t in_run = steps + place;
    if (in_run < steps_in_flight_) continue;  // was in flight before
    for (; grown < in_run; ++grown) grow(batch);
    StepInFlight& step = in_flight(place);
    step.plan.clear();
    step.plan.batch = batch;
    step.start = run_[in_run - 1].end;
    step.timed = run_[in_run];
  }
}

// A request arrives: the steps that have ended are passed, but for one that ends at this very instant: it is completed as a
// step by itself, since the request belongs into the plan that follows.
void Replica::interrupt_run(Time now) {
  const auto first_not_ended = std::find_if(run_.begin(), run_.end(), [now](const TimedStep& step) { return step.end > now; });
  auto ended = static_cast<std::size_t>(first_not_ended - run_.begin());
  const bool ends_now = ended > 0 && run_[ended - 1].end == now;
  if (static_cast<std::int64_t>(ended) < reach_ / 2) reach_ = std::max(reach_ / 2, least_ahead);
  if (ends_now) --ended;
  pass_steps(ended);
  EventQueue::cancel(*this);
  timer_ = Time{};
  if (!ends_now) return;
  queue_.settled(now, Phase::complete);
  complete_step(now);
  plan_later(now);
}

}  // namespace ridgeline
