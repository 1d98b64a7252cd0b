// Sequences that generate one token each, all in the same steps. A step costs what changes, never the number of members:
// a member stores its counts as of the step it joined in, and the set keeps the sums that a step needs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "sim/scheduling/sequence.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

class DecodeSet {
 public:
  /// `block_size`: tokens a KV block. `window`: the model's sliding window for `context_in_window`, 0 = none.
  DecodeSet(std::int64_t block_size, std::int64_t window);

  /// From the next step on the sequence decodes. It has sampled at least one token and is not at its end.
  void join(Sequence& sequence);
  /// Takes it out with its counts brought up to date.
  void leave(Sequence& sequence);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  /// Tokens with KV once the coming step has run, over all members.
  [[nodiscard]] std::int64_t context() const { return context_; }
  /// Members whose token of the coming step opens a block.
  [[nodiscard]] std::int64_t blocks_due() const { return by_phase_[phase()]; }
  [[nodiscard]] bool block_due(const Sequence& member) const { return computed(member) % block_size_ == 0; }
  [[nodiscard]] std::int64_t outputs(const Sequence& member) const { return member.outputs + steps_ - member.joined; }
  [[nodiscard]] std::int64_t computed(const Sequence& member) const { return member.input + outputs(member) - 1; }
  /// Members in running order. Costs O(n log n): for steps that are not steady.
  [[nodiscard]] std::vector<Sequence*> in_order() const;

  /// Adds the coming step of all members to a batch.
  void fill(BatchShape& batch) const;

  /// While a step of all members is in flight: the free blocks after planning each of the steps to come, from `free` now. Up to
  /// the first in which a member ends or fills its window, as long as `reserve` blocks stay free, at most `most`. None if a
  /// member ends in the step in flight.
  void look_ahead(std::int64_t most, std::int64_t free, std::int64_t reserve, std::vector<std::int64_t>& free_blocks) const;
  /// Members whose context still grows within the window.
  [[nodiscard]] std::int64_t growing() const { return below_window_; }
  /// Every member got its newest token at `time`.
  [[nodiscard]] bool all_delivered_at(Time time) const;
  /// `steps` that `look_ahead` saw are done, the last of them `now`.
  void pass(std::int64_t steps, Time now);

  /// The step is done: every member has one token more, delivered `now`.
  void advance(Time now, SchedulerListener& listener);
  /// Takes out the members that reached their end in this step, in running order.
  void take_ended(std::vector<Sequence*>& ended);

 private:
  struct End {
    std::int64_t step = 0;
    Sequence* sequence = nullptr;
    friend bool operator<(const End& a, const End& b) {
      return a.step != b.step ? a.step < b.step : a.sequence->order < b.sequence->order;
    }
  };
  /// Members that joined since the last step, by the time of their newest token.
  struct Newcomers {
    Time last_chunk;
    std::int64_t count = 0;
  };

  void count_steps(std::int64_t steps, Time now);
  [[nodiscard]] std::size_t phase() const { return static_cast<std::size_t>(steps_ % block_size_); }
  [[nodiscard]] std::size_t due_phase(const Sequence& member) const;
  [[nodiscard]] End end_of(const Sequence& member) const;
  void count_in_window(const Sequence& member, std::int64_t sign);

  std::int64_t block_size_;
  std::int64_t window_;
  std::int64_t steps_ = 0;
  std::set<End> ends_;
  std::vector<std::int64_t> by_phase_;  // members by the step, modulo the block size, in which they open a block
  std::int64_t context_ = 0;            // sum over members of the keys that the coming step sees
  std::int64_t context_in_window_ = 0;
  std::int64_t below_window_ = 0;       // members whose context still grows within the window
  std::map<std::int64_t, std::int64_t> reaching_window_;  // of those: how many fill the window at a step
  std::int64_t old_members_ = 0;        // members that took part in the last step
  Time last_step_;
  std::vector<Newcomers> newcomers_;
};

}  // namespace ridgeline
