// The waiting queue and the running list of the vLLM V1 scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "sim/scheduling/vllm_v1_sequence.hpp"

namespace ridgeline::vllm_v1 {

/// First come, first served with preempted requests at the front, or a priority queue (smaller = more urgent, then
/// earlier).
class WaitingQueue {
 public:
  explicit WaitingQueue(bool by_priority) : by_priority_(by_priority) {}

  [[nodiscard]] bool empty() const { return by_priority_ ? ordered_.empty() : fifo_.empty(); }
  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(by_priority_ ? ordered_.size() : fifo_.size());
  }
  [[nodiscard]] Sequence* front() const { return by_priority_ ? *ordered_.begin() : fifo_.front(); }

  void push_back(Sequence* sequence) {
    if (by_priority_) ordered_.insert(sequence);
    else fifo_.push_back(sequence);
  }
  void push_front(Sequence* sequence) {
    if (by_priority_) ordered_.insert(sequence);
    else fifo_.push_front(sequence);
  }
  void pop_front() {
    if (by_priority_) ordered_.erase(ordered_.begin());
    else fifo_.pop_front();
  }
  /// Rare (a preempted request whose last token was still in flight), hence linear.
  void remove(Sequence* sequence) {
    if (by_priority_) ordered_.erase(sequence);
    else std::erase(fifo_, sequence);
  }

 private:
  struct MoreUrgent {
    bool operator()(const Sequence* a, const Sequence* b) const {
      if (a->priority != b->priority) return a->priority < b->priority;
      if (a->arrival != b->arrival) return a->arrival < b->arrival;
      return a->row < b->row;
    }
  };
  bool by_priority_;
  std::deque<Sequence*> fifo_;
  std::set<Sequence*, MoreUrgent> ordered_;
};

/// Running sequences in admission order: a list through the sequences themselves.
class RunningList {
 public:
  [[nodiscard]] Sequence* front() const { return front_; }
  [[nodiscard]] Sequence* back() const { return back_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  void push_back(Sequence* sequence) {
    sequence->admission = ++admissions_;
    sequence->previous = back_;
    sequence->next = nullptr;
    (back_ ? back_->next : front_) = sequence;
    back_ = sequence;
    ++size_;
  }
  void remove(Sequence* sequence) {
    (sequence->previous ? sequence->previous->next : front_) = sequence->next;
    (sequence->next ? sequence->next->previous : back_) = sequence->previous;
    --size_;
  }

 private:
  Sequence* front_ = nullptr;
  Sequence* back_ = nullptr;
  std::int64_t size_ = 0;
  std::uint64_t admissions_ = 0;
};

}  // namespace ridgeline::vllm_v1
