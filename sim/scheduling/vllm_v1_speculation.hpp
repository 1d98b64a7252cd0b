// Speculative decoding as the vLLM V1 scheduler sees it: how many drafts, which slots they need, how many are accepted.
#pragma once

#include <cstdint>
#include <string>

#include "sim/scheduling/vllm_v1_sequence.hpp"
#include "sim/serving/engine_config.hpp"

namespace ridgeline::vllm_v1 {

class Speculation {
 public:
  /// `path` keys the acceptance draws. Throws ConfigError for a method that V1's scheduler has no rule for here.
  Speculation(const EngineConfig& config, const std::string& path);

  [[nodiscard]] bool on() const { return tokens_ > 0; }
  /// Most drafts proposed after a step that samples.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// Drafts proposed for each sequence of a step with `running` sequences in the engine.
  [[nodiscard]] std::int64_t tokens(std::int64_t running) const;
  /// KV slots that the drafter writes beyond the scheduled tokens (EAGLE, MTP, draft model: one per draft; n-gram: none).
  [[nodiscard]] std::int64_t lookahead() const { return lookahead_; }
  /// Rows of the batch that a scheduled request costs on top of its tokens (a draft model feeds one unsliced token).
  [[nodiscard]] std::int64_t draft_slots() const { return draft_slots_; }

  /// Whether the drafter finds anything for `sequence`; only n-gram may not.
  [[nodiscard]] bool finds_drafts(const Sequence& sequence) const;
  /// Accepted drafts of the sequence's next verify step with `drafts` of them; uses up one entry or draw.
  [[nodiscard]] std::int64_t accept(Sequence& sequence, std::int64_t drafts) const;

 private:
  SpeculationConfig config_;
  std::uint64_t key_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t lookahead_ = 0;
  std::int64_t draft_slots_ = 0;
};

}  // namespace ridgeline::vllm_v1
