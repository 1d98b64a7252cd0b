// The memory rules that vLLM V0 and Sarathi-Serve share: a whole prompt's blocks at admission, a watermark, one free block
// for every decode, and preemption of the latest arrival, by recomputation unless the engine knows better. Source: sarathi-serve 96f99117,
// block_space_manager/ and vllm_scheduler.py (its re-implementation of vLLM V0).
#pragma once

#include <deque>
#include <set>

#include "sim/scheduling/sequence_engine.hpp"

namespace ridgeline {

class RecomputeEngine : public SequenceEngine {
 public:
  explicit RecomputeEngine(const EngineConfig& config);
  void enqueue(Request& request, Time now) override;

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(waiting_.size()); }
  void release(Sequence& sequence) override;
  [[nodiscard]] bool is_steady() const override { return partial_.empty() && !admissible(); }
  [[nodiscard]] std::int64_t steady_reserve() const override { return 1; }  // make_room: one more than are due

  /// The first in the queue, if its prompt (with kept outputs) fits above the watermark and the batch has a place.
  [[nodiscard]] Sequence* admissible() const;
  void admit_first(SchedulerListener& listener);

  /// Takes the blocks of the coming decode step. Each decode wants a free block, even if it doesn't open one; while there is
  /// none, the latest arrival not yet visited goes. True if anything was preempted.
  bool make_room(StepPlan& plan, SchedulerListener& listener);
  /// Frees the victim's blocks and queues it. Here: to be recomputed.
  virtual void give_way(Sequence& victim, StepPlan& plan, SchedulerListener& listener);
  /// Blocks of an admitted sequence.
  [[nodiscard]] std::int64_t held_by(const Sequence& sequence) const;
  /// Of a planned step.
  [[nodiscard]] KvWaste paged_waste() const;

  std::set<Sequence*, EarlierSequence> partial_;  ///< admitted, prompt unfinished
  std::int64_t kept_free_;                        ///< blocks

 private:
  bool make_room_one_by_one(StepPlan& plan, SchedulerListener& listener);

  SequencePool<Sequence> sequences_;
  std::deque<Sequence*> waiting_;
  std::int64_t next_order_ = 0;
};

}  // namespace ridgeline
