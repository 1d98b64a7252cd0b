#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <string>

namespace ridgeline {

namespace {

constexpr std::size_t arity = 4;

}  // namespace

void EventQueue::schedule(Time at, Phase phase, Process& process, std::uint32_t token) {
  if (at < now_) throw InternalError("event in the past for process " + std::string(process.name()));
  const Event event{key_of(at, phase, process.rank_, sequence_++), &process, process.cancellations_, token};
  if (root_open_) {
    sift_down(event);
    root_open_ = false;
  } else {
    heap_.push_back(event);
    sift_up(event, heap_.size() - 1);
  }
}

bool EventQueue::run_next() {
  Event event;
  do {
    if (root_open_) {
      const Event last = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) sift_down(last);
      root_open_ = false;
    }
    if (heap_.empty()) return false;
    event = heap_.front();
    root_open_ = true;
  } while (event.cancellations != event.process->cancellations_);

  constexpr std::uint64_t most_at_one_instant = 10'000'000;
  const Time at = time_of(event);
  events_at_now_ = at == now_ ? events_at_now_ + 1 : 0;
  if (events_at_now_ > most_at_one_instant) {
    throw InternalError("simulated time stands still in process " + std::string(event.process->name()));
  }
  now_ = at;
  if (phase_of(event) < Phase::plan) settled(at, phase_of(event));
  event.process->wake(at, event.token);
  return true;
}

const EventQueue::Event* EventQueue::first() const {
  if (!root_open_) return heap_.empty() ? nullptr : &heap_.front();
  const auto children_end = heap_.begin() + static_cast<std::ptrdiff_t>(std::min(heap_.size(), arity + 1));
  const auto least = std::min_element(heap_.begin() + 1, children_end, [](const Event& a, const Event& b) { return a.key < b.key; });
  return least == children_end ? nullptr : &*least;
}

void EventQueue::sift_up(const Event& event, std::size_t place) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / arity;
    if (heap_[parent].key < event.key) break;
    heap_[place] = heap_[parent];
    place = parent;
  }
  heap_[place] = event;
}

void EventQueue::sift_down(const Event& event) {
  std::size_t place = 0;
  for (;;) {
    const std::size_t first_child = arity * place + 1;
    const std::size_t end = std::min(heap_.size(), first_child + arity);
    if (first_child >= end) break;
    std::size_t least = first_child;
    for (std::size_t child = first_child + 1; child < end; ++child) {
      if (heap_[child].key < heap_[least].key) least = child;
    }
    if (event.key < heap_[least].key) break;
    heap_[place] = heap_[least];
    place = least;
  }
  heap_[place] = event;
}

}  // namespace ridgeline
