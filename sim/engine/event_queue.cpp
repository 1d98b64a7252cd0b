#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <string>

#include "sim/base/rng.hpp"

namespace ridgeline {

void EventQueue::schedule(Time at, Phase phase, Process& process, std::uint64_t token) {
  if (at < now_) throw InternalError("event in the past for process " + std::string(process.name()));
  heap_.push_back({at, order_of(phase, sequence_++), &process, token});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool EventQueue::run_next() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Event event = heap_.back();
  heap_.pop_back();

  constexpr std::uint64_t most_at_one_instant = 10'000'000;
  events_at_now_ = event.at == now_ ? events_at_now_ + 1 : 0;
  if (events_at_now_ > most_at_one_instant) {
    throw InternalError("simulated time stands still in process " + std::string(event.process->name()));
  }
  now_ = event.at;
  ++events_run_;
  fingerprint_ = combine64(fingerprint_ ^ (event.order >> 56), static_cast<std::uint64_t>(event.at.since_start().picoseconds()));
  event.process->wake(event.at, event.token);
  return true;
}

}  // namespace ridgeline
