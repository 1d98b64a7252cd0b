#include "sim/scheduling/vllm_v1_lockstep.hpp"

#include <algorithm>

namespace ridgeline::vllm_v1 {

void Lockstep::join(Sequence& sequence, std::int64_t last, bool shareable) {
  sequence.pace = Pace::member;
  sequence.base = sequence.computed - tick_;
  ++size_;
  context_ += sequence.computed;
  ++at_boundary_[slot_of(sequence.base)];
  sequence.commit_slot = -1;
  if (shareable) {
    auto& slot = completing_[slot_of(sequence.base + commit_lag_)];
    sequence.commit_slot = static_cast<std::int64_t>(slot.size());
    slot.push_back(&sequence);
  }
  if (last != never) ending_.push({last, sequence.admission, &sequence});
  if (window_ == 0) return;
  if (sequence.computed >= window_) {
    clipped_ += window_;
  } else {
    ++growing_;
    clipped_ += sequence.computed;
    reaching_window_.push({tick_ + window_ - sequence.computed, sequence.admission, &sequence});
  }
}

void Lockstep::leave(Sequence& sequence) {
  sequence.pace = Pace::drained;
  sequence.left = tick_;
  --size_;
  context_ -= computed(sequence);
  --at_boundary_[slot_of(sequence.base)];
  if (sequence.commit_slot >= 0) {
    auto& slot = completing_[slot_of(sequence.base + commit_lag_)];
    slot.back()->commit_slot = sequence.commit_slot;
    slot[static_cast<std::size_t>(sequence.commit_slot)] = slot.back();
    slot.pop_back();
  }
  if (window_ == 0) return;
  if (computed(sequence) >= window_) {
    clipped_ -= window_;
  } else {
    --growing_;
    clipped_ -= computed(sequence);
  }
}

void Lockstep::clear() {
  size_ = context_ = clipped_ = growing_ = 0;
  at_boundary_.assign(at_boundary_.size(), 0);
  for (auto& slot : completing_) slot.clear();
  ending_ = {};
  reaching_window_ = {};
}

void Lockstep::look_ahead(std::int64_t most, std::int64_t free, std::vector<std::int64_t>& free_blocks) const {
  if (!ending_.empty()) most = std::min(most, ending_.top().tick - tick_);
  if (!reaching_window_.empty()) most = std::min(most, reaching_window_.top().tick - tick_);
  std::size_t due = due_index_;
  for (std::int64_t step = 0; step < most; ++step) {
    free -= at_boundary_[due];
    if (free < 0) return;
    free_blocks.push_back(free);
    due = index_after(due);
  }
}

void Lockstep::advance() {
  ++tick_;
  due_index_ = index_after(due_index_);
  context_ += size_;
  clipped_ += growing_;
  for (; !reaching_window_.empty() && reaching_window_.top().tick == tick_; reaching_window_.pop()) {
    // Entries of sequences that have left since are void.
    const Due& due = reaching_window_.top();
    if (due.sequence->admission == due.admission && due.sequence->pace == Pace::member) --growing_;
  }
}

Sequence* Lockstep::pop_ending() {
  if (ending_.empty() || ending_.top().tick != tick_) return nullptr;
  Sequence* sequence = ending_.top().sequence;
  ending_.pop();
  return sequence;
}

}  // namespace ridgeline::vllm_v1
