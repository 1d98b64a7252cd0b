// The terms of the memory budget that engines measure and we must predict: what is fitted on start-up logs lies here.
#pragma once

#include <cstdint>

#include "models/memory_budget.hpp"

namespace ridgeline {

/// Tokens of the profile run: the budget of a step; V0 ran the longest prompt in one piece up to 32,768 tokens.
std::int64_t profile_tokens(const MemoryRequest& request);

/// Peak of the forward pass for `tokens` rows on one rank: three hidden-wide tensors (residual, normed, output) and the
/// widest inner stage, 16 bits each.
Bytes forward_peak(const ModelSpec& model, const Shard& shard, std::int64_t tokens);

/// Peak of the sampler's warm-up: bytes per logit of `sequences` rows over the whole vocabulary, beside the hidden
/// states.
Bytes sampler_peak(const ModelSpec& model, const MemoryRequest& request);

/// The larger of the two. V0 on one GPU: the forward pass alone.
Bytes activation_peak(const ModelSpec& model, const MemoryRequest& request);
Bytes non_torch_memory(const MemoryRequest& request);
Bytes graph_memory(const MemoryRequest& request);

}  // namespace ridgeline
