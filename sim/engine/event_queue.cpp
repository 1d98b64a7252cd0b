#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <string>

namespace ridgeline {

void EventQueue::schedule(Time at, Phase phase, Process& process, std::uint32_t token) {
  if (at < now_) throw InternalError("event in the past for process " + std::string(process.name()));
  heap_.push_back({at, order_of(phase, process.rank_, sequence_++), &process, process.cancellations_, token});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool EventQueue::run_next() {
  Event event;
  do {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    event = heap_.back();
    heap_.pop_back();
  } while (event.cancellations != event.process->cancellations_);

  constexpr std::uint64_t most_at_one_instant = 10'000'000;
  events_at_now_ = event.at == now_ ? events_at_now_ + 1 : 0;
  if (events_at_now_ > most_at_one_instant) {
    throw InternalError("simulated time stands still in process " + std::string(event.process->name()));
  }
  now_ = event.at;
  if (phase_of(event) < Phase::plan) settled(now_, phase_of(event));
  event.process->wake(event.at, event.token);
  return true;
}

}  // namespace ridgeline
