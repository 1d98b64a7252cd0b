// SGLang's admission test: which waiting requests the coming prefill batch takes, and how much of each prompt.
// Rules: sglang 9fec359a, managers/schedule_policy.py, PrefillAdder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/scheduling/sglang_memory.hpp"

namespace ridgeline {

/// Fills one prefill batch. Lives for one attempt.
class SglangAdmission {
 public:
  enum class Verdict {
    next,      ///< ask for more
    no_token,  ///< the pool is full: no prefills until some request leaves
    stop,      ///< this batch is full
  };

  /// Tokens that a request is expected to generate; the estimate is clipped, not the request.
  static std::int64_t expected(std::int64_t max_tokens) {
    constexpr std::int64_t longest_expected = 4096;  // CLIP_MAX_NEW_TOKENS
    return std::clamp<std::int64_t>(max_tokens, 0, longest_expected);
  }

  /// `max_prefill_tokens` and `chunk` (0 = prompts are not cut) bound the batch; `mixed_decodes` decodes ride with it;
  /// `running_need` is what the running requests are expected to take still, scaled by the new-token ratio.
  SglangAdmission(SglangMemory& memory, std::int64_t max_prefill_tokens, std::int64_t chunk, std::int64_t mixed_decodes,
                  double running_need)
      : memory_(memory),
        chunks_(chunk > 0),
        input_left_(max_prefill_tokens - mixed_decodes),
        chunk_left_(chunk - mixed_decodes),
        planned_(static_cast<double>(mixed_decodes) + running_need),
        planned_now_(mixed_decodes) {}

  /// Continues a prompt that an earlier batch cut. True if it has to be cut again.
  bool continue_chunked(SglangSequence& sequence);
  /// Takes the sequence, whose prefix was just looked up, if it fits; its prefix is then locked.
  Verdict add(SglangSequence& sequence);

  /// In batch order.
  [[nodiscard]] const std::vector<SglangSequence*>& batch() const { return batch_; }
  /// The one whose prompt `add` cut, or null.
  [[nodiscard]] SglangSequence* cut() const { return cut_; }
  /// Tokens not spoken for yet.
  [[nodiscard]] double left() const { return static_cast<double>(memory_.free_or_evictable()) - planned_; }

 private:
  void charge(std::int64_t extend, std::int64_t expected);
  [[nodiscard]] Verdict verdict() const;

  SglangMemory& memory_;
  bool chunks_;
  std::int64_t input_left_;
  std::int64_t chunk_left_;
  double planned_;            // tokens spoken for until all end
  std::int64_t planned_now_;  // tokens spoken for in this step
  std::vector<SglangSequence*> batch_;
  SglangSequence* cut_ = nullptr;
};

}  // namespace ridgeline
