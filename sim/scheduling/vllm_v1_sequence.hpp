// What the vLLM V1 scheduler keeps per request and per step.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/serving/kv_cache.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline::vllm_v1 {

/// `loading`: waits for prefix blocks from the host tier, which it holds already.
enum class State : std::uint8_t { waiting, loading, running, preempted, finished };

/// How a running sequence is scheduled: walked to every step, as one of those that decode in lockstep, or, having been
/// one, not any more because its last token is in flight.
enum class Pace : std::uint8_t { walked, member, drained };

/// A request in the scheduler. No phases: `computed` chases `known()`; that covers chunks, hits, drafts and recomputes.
struct Sequence {
  Request* request = nullptr;
  std::int64_t row = 0;
  std::int64_t prompt = 0;
  std::int64_t target = 0;      ///< outputs really generated
  std::int64_t max_tokens = 0;  ///< outputs the engine was told
  std::int32_t priority = 0;
  State state = State::waiting;
  bool prefilling = true;  ///< no output has arrived since the (re-)admission: rows are logged as prefill
  bool partial = false;    ///< the latest scheduled chunk did not reach the last known token
  Time arrival;
  Time last_chunk;  ///< when the client last got tokens

  std::int64_t computed = 0;  ///< tokens whose KV is computed or scheduled, drafts included
  std::int64_t outputs = 0;
  std::int64_t placeholders = 0;  ///< async: tokens (drafts included) of steps in flight that will become outputs
  std::int64_t in_flight = 0;     ///< scheduled tokens of steps in flight
  std::int64_t stale = 0;         ///< of those, scheduled before a preemption: they deliver tokens but move no counter
  std::int64_t drafts = 0;        ///< draft tokens to verify next
  std::int64_t verified = 0;      ///< verify steps so far: position in the acceptance sequence

  // In lockstep `computed` to `stale` stand still at their values of when it joined; these carry on.
  Pace pace = Pace::walked;
  std::int64_t base = 0;          ///< computed tokens minus ticks
  std::int64_t joined = 0;        ///< tick of the step that scheduled its first sample
  std::int64_t left = 0;          ///< drained: tick of its last step
  std::int64_t commit_slot = -1;  ///< place in its list of sequences that complete shareable blocks

  Time loaded;              ///< loading: when its blocks are there
  std::int64_t parked = 0;  ///< loading: blocks it still needs for its known tokens
  std::int64_t stored = 0;  ///< leading blocks handed to the host tier

  std::uint64_t admission = 0;   ///< running list order
  Sequence* previous = nullptr;  ///< in the running list
  Sequence* next = nullptr;
  std::int32_t pins = 0;  ///< steps in flight that still name this sequence

  KvSequence kv;

  [[nodiscard]] std::int64_t known() const { return prompt + outputs; }
};

/// What a step in flight does for one sequence.
struct Row {
  Sequence* sequence = nullptr;
  std::int64_t scheduled = 0;
  std::int64_t drafts = 0;  ///< of those, tokens to verify
  std::int64_t proposes = 0;  ///< drafts for the next step
  bool padded = false;      ///< the drafts are padding that never matches
  bool samples = false;     ///< reaches the last known token
  bool decode = false;      ///< extends the output: no recompute, no piece of a prompt
  bool logged_as_prefill = false;
  bool in_lockstep = false;  ///< one of Step::decodes, listed for the step log only
};

/// A step in flight.
struct Step {
  std::int64_t tick = 0;             ///< of the lockstep, after this step
  std::int64_t decodes = 0;          ///< lockstep members that get a token from it
  std::vector<Sequence*> ending;     ///< of those, sequences for which it is the last, in admission order
  std::vector<Row> rows;             ///< the others, in batch order; all come after the lockstep members
  std::vector<Sequence*> preempted;  ///< since the step before; only when rows are kept
  void clear() {
    decodes = 0;
    ending.clear();
    rows.clear();
    preempted.clear();
  }
};

/// Steps in flight, oldest first, in two recycled slots.
class StepRing {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const Step& at(std::int64_t place) const {
    return steps_[(first_ + static_cast<std::size_t>(place)) % steps_.size()];
  }
  Step& front() { return steps_[first_]; }
  Step& back() { return steps_[(first_ + static_cast<std::size_t>(size_) - 1) % steps_.size()]; }
  /// The slot that `push` will make the newest step.
  Step& spare() { return steps_[(first_ + static_cast<std::size_t>(size_)) % steps_.size()]; }
  void push() { ++size_; }
  void pop() { first_ = (first_ + 1) % steps_.size(), --size_; }

 private:
  // One more than can be in flight: a popped step stays intact until the next is planned.
  std::array<Step, 3> steps_;
  std::size_t first_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace ridgeline::vllm_v1
