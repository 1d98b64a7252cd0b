#include "sim/scheduling/sglang_retraction.hpp"

#include <algorithm>

namespace ridgeline {

namespace {

// sglang 9fec359a, environ.py: SGLANG_INIT_NEW_TOKEN_RATIO, SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR,
// SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS, SGLANG_RETRACT_DECODE_STEPS.
constexpr double initial_ratio = 0.7;
constexpr double lowest_ratio_factor = 0.14;
constexpr double ratio_decay_steps = 600.0;
constexpr std::int64_t steps_after_retraction = 20;

}  // namespace

bool next_decode_fits(const DecodeSet& decodes, SglangMemory& memory) {
  const std::int64_t needed = decodes.blocks_due() * memory.page_size();
  memory.evict_if_short(needed);
  return memory.free_tokens() >= needed;
}

SglangBatch retract_for_decode(SglangBatch& batch, DecodeSet& decodes, SglangMemory& memory) {
  std::stable_sort(batch.begin(), batch.end(), [&](const SglangSequence* a, const SglangSequence* b) {
    const std::int64_t outputs_a = decodes.outputs(*a);
    const std::int64_t outputs_b = decodes.outputs(*b);
    return outputs_a != outputs_b ? outputs_a > outputs_b : a->input < b->input;
  });
  SglangBatch victims;
  do {
    if (batch.size() == 1) break;
    SglangSequence& victim = *batch.back();
    batch.pop_back();
    decodes.leave(victim);
    memory.drop(victim, victim.computed);
    memory.evict_if_short(static_cast<std::int64_t>(batch.size()) * steps_after_retraction);
    victims.push_back(&victim);
  } while (!next_decode_fits(decodes, memory));
  if (batch.size() == 1 && !next_decode_fits(decodes, memory)) {
    throw ConfigError("SGLang would abort request " + std::to_string(batch.front()->row) +
                      " here: it does not fit the KV pool even alone");
  }
  return victims;
}

NewTokenRatio::NewTokenRatio(double conservativeness)
    : first_(std::min(initial_ratio * conservativeness, 1.0)),
      lowest_(std::min(first_ * lowest_ratio_factor, 1.0)),
      decay_((first_ - lowest_) / ratio_decay_steps),
      value_(first_) {}

void NewTokenRatio::decay() { value_ = std::max(value_ - decay_, lowest_); }

void NewTokenRatio::after_retraction(const SglangBatch& kept) {
  std::int64_t generated = steps_after_retraction * static_cast<std::int64_t>(kept.size());
  std::int64_t allowed = 1;
  for (const SglangSequence* sequence : kept) {
    generated += sequence->outputs;
    allowed += sequence->max_tokens;
  }
  value_ = std::min(static_cast<double>(generated) / static_cast<double>(allowed), 1.0);
}

}  // namespace ridgeline
