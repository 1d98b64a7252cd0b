// A request as an engine sees it: how far it has come and what it holds.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/request.hpp"

namespace ridgeline {

/// Counts are tokens unless said otherwise. `known` = prompt and outputs so far; of a decoding sequence all but the newest
/// token have KV.
struct Sequence {
  Request* request = nullptr;   ///< valid until the listener hears that it finished
  std::int64_t row = 0;         ///< workload row
  std::int64_t input = 0;
  std::int64_t output = 0;      ///< where it will end
  std::int64_t max_tokens = 0;  ///< where the scheduler must expect it to end
  std::int64_t order = 0;       ///< place in the engine's running order; smaller first
  std::int64_t computed = 0;    ///< tokens with KV; exact while the sequence is not in a DecodeSet
  std::int64_t outputs = 0;     ///< tokens sampled; exact while the sequence is not in a DecodeSet
  std::int64_t joined = 0;      ///< DecodeSet's: its step count when the sequence joined
  Time last_chunk;              ///< when its newest token was delivered
  bool decoding = false;        ///< in the DecodeSet

  [[nodiscard]] std::int64_t known() const { return input + outputs; }
  [[nodiscard]] bool ended() const { return outputs >= output; }
};

/// Earlier in the running order.
struct EarlierSequence {
  bool operator()(const Sequence* a, const Sequence* b) const { return a->order < b->order; }
};

/// Sequences at stable addresses, recycled. `S` is Sequence or derived from it.
template <class S>
class SequencePool {
 public:
  S& take(Request& request) {
    if (free_.empty()) {
      sequences_.emplace_back();
      free_.push_back(&sequences_.back());
    }
    S& sequence = *free_.back();
    free_.pop_back();
    sequence = S{};
    sequence.request = &request;
    sequence.row = request.spec.row;
    sequence.input = request.spec.input.count();
    sequence.output = request.spec.output.count();
    sequence.max_tokens = request.spec.max_tokens.count();
    return sequence;
  }
  void give_back(S& sequence) { free_.push_back(&sequence); }

 private:
  std::deque<S> sequences_;
  std::vector<S*> free_;
};

}  // namespace ridgeline
