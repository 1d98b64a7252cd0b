// What a step computes, in aggregates: enough to price it, small enough to keep up to date with O(changes) a step.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/operator.hpp"

namespace ridgeline {

/// Aggregates of one engine step over one replica.
struct BatchShape {
  std::int64_t decode_sequences = 0;             ///< sequences that extend their output
  Tokens decode_queries;                         ///< rows of those: one each, plus the drafts being verified
  Tokens decode_context;                         ///< sum of visible keys over decode sequences, newest tokens included
  Tokens decode_context_in_window;               ///< the same, each clipped to the model's sliding window (if it has one)
  std::vector<PrefillChunk> chunks;              ///< pieces of prompts, in batch order
  std::int64_t sampled_sequences = 0;            ///< sequences that sample: decodes and prompts that end in this step
  std::int64_t verified_drafts = 0;              ///< drafts among `decode_queries`: each needs logits of its own too
  std::int64_t proposing_sequences = 0;          ///< sequences for which the drafter proposes tokens after this step
  std::int64_t proposals = 0;                    ///< drafts for each of those
  Tokens proposing_context;                      ///< sum of their contexts, this step's tokens included
  Tokens padding;                                ///< rows computed for nothing (static batching pads prompts)

  [[nodiscard]] Tokens prefill_tokens() const {
    Tokens sum;
    for (const PrefillChunk& chunk : chunks) sum += chunk.new_tokens;
    return sum;
  }
  /// Rows of every linear layer.
  [[nodiscard]] Tokens tokens() const { return decode_queries + prefill_tokens() + padding; }
  /// Rows of the LM head.
  [[nodiscard]] std::int64_t logit_rows() const { return sampled_sequences + verified_drafts; }
  [[nodiscard]] bool empty() const { return decode_sequences == 0 && chunks.empty(); }
  void clear() {
    decode_sequences = sampled_sequences = verified_drafts = proposing_sequences = proposals = 0;
    decode_queries = decode_context = decode_context_in_window = proposing_context = padding = Tokens{};
    chunks.clear();  // keeps its capacity: no allocation in steady state
  }
};

}  // namespace ridgeline
