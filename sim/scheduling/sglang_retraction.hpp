// What SGLang does when the pool can't hold the next decode step: some requests go back to the queue, and admission becomes
// more careful. Rules: sglang 9fec359a, managers/schedule_batch.py and scheduler_components/new_token_ratio_tracker.py.
#pragma once

#include "sim/scheduling/decode_set.hpp"
#include "sim/scheduling/sglang_memory.hpp"

namespace ridgeline {

/// Whether the next step's pages are free, after eviction if need be.
bool next_decode_fits(const DecodeSet& decodes, SglangMemory& memory);

/// Takes at least one request out of a decoding batch until its next step fits, and frees what it holds: the one with the
/// fewest outputs first, of equals the one with the longest prompt. One always stays. The rest of the batch is left sorted.
/// Throws ConfigError when not even that one fits: SGLang would abort it.
SglangBatch retract_for_decode(SglangBatch& batch, DecodeSet& decodes, SglangMemory& memory);

/// The share of max_tokens that running requests are expected to generate.
class NewTokenRatio {
 public:
  explicit NewTokenRatio(double conservativeness);

  [[nodiscard]] double value() const { return value_; }
  void reset() { value_ = first_; }
  /// After a decode step that fitted.
  void decay();
  /// From how far the requests that stayed have come.
  void after_retraction(const SglangBatch& kept);

 private:
  double first_;
  double lowest_;
  double decay_;
  double value_;
};

}  // namespace ridgeline
