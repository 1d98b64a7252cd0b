// Decoding sequences that advance together, one token a step: their state is a few sums, not a loop.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/scheduling/vllm_v1_sequence.hpp"

namespace ridgeline::vllm_v1 {

/// Members are scheduled for one token in every step. `tick` counts those steps; a member's `computed` is base + tick.
/// A step costs what changes: members that need a block, complete a shareable block, or end.
class Lockstep {
 public:
  /// `commit_lag`: tokens between the first uncomputed one and the last known one when a step is planned (async: 0,
  /// else 1).
  Lockstep(std::int64_t block_size, std::int64_t commit_lag, std::int64_t window)
      : block_size_(block_size),
        commit_lag_(commit_lag),
        window_(window),
        at_boundary_(static_cast<std::size_t>(block_size)),
        completing_(static_cast<std::size_t>(block_size)) {}

  [[nodiscard]] std::int64_t tick() const { return tick_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Sum of the members' computed tokens, and the same with each clipped to the window (0 without one).
  [[nodiscard]] std::int64_t context() const { return context_; }
  [[nodiscard]] std::int64_t context_in_window() const { return clipped_; }

  /// `sequence.computed` tokens are computed or in flight, the next step will be its first here. `last`: the tick of
  /// the step that samples its last token, or `never` if that step is none of these. `shareable`: blocks it completes
  /// get an identity. `sequence.joined` is the caller's to set.
  void join(Sequence& sequence, std::int64_t last, bool shareable);
  static constexpr std::int64_t never = -1;
  /// Not scheduled any more.
  void leave(Sequence& sequence);
  /// Forgets all members.
  void clear();

  /// Members that need a new block in the coming step.
  [[nodiscard]] std::int64_t due_blocks() const { return at_boundary_[due_index_]; }
  /// Members that have all tokens of a shareable block when the coming step is planned.
  [[nodiscard]] const std::vector<Sequence*>& due_commits() const { return completing_[due_index_]; }
  [[nodiscard]] std::int64_t computed(const Sequence& sequence) const { return sequence.base + tick_; }
  [[nodiscard]] std::int64_t commit_lag() const { return commit_lag_; }

  /// Members whose context still grows within the window.
  [[nodiscard]] std::int64_t growing() const { return growing_; }
  /// The free blocks after each of the coming steps, from `free` now: up to the first in which a sequence ends or fills its
  /// window, as long as there are blocks, at most `most`.
  void look_ahead(std::int64_t most, std::int64_t free, std::vector<std::int64_t>& free_blocks) const;

  /// The step is planned: every member gets its token.
  void advance();
  /// A sequence whose last token the step just planned samples, in admission order; null when there is none left.
  Sequence* pop_ending();

 private:
  struct Due {
    std::int64_t tick;
    std::uint64_t admission;
    Sequence* sequence;
    friend bool operator>(const Due& a, const Due& b) {
      return a.tick != b.tick ? a.tick > b.tick : a.admission > b.admission;
    }
  };
  using DueQueue = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  [[nodiscard]] std::size_t slot_of(std::int64_t offset) const {
    const std::int64_t rest = offset % block_size_;
    return static_cast<std::size_t>(rest < 0 ? rest + block_size_ : rest);
  }

  [[nodiscard]] std::size_t index_after(std::size_t due) const {
    return due == 0 ? static_cast<std::size_t>(block_size_) - 1 : due - 1;
  }

  std::int64_t block_size_;
  std::int64_t commit_lag_;
  std::int64_t window_;
  std::int64_t tick_ = 0;
  std::size_t due_index_ = 0;  // -tick modulo block size
  std::int64_t size_ = 0;
  std::int64_t context_ = 0;
  std::int64_t clipped_ = 0;
  std::int64_t growing_ = 0;                        // members whose context has not reached the window
  std::vector<std::int64_t> at_boundary_;           // members by base modulo block size
  std::vector<std::vector<Sequence*>> completing_;  // shareable members by (base + lag) modulo block size
  DueQueue ending_;
  DueQueue reaching_window_;
};

}  // namespace ridgeline::vllm_v1
