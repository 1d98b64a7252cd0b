#include "sim/serving/kv_evicting_cache.hpp"

#include <algorithm>

namespace ridgeline {

EvictingKvCache::EvictingKvCache(const EngineConfig& config)
    : KvCache(config),
      eviction_(config.kv_eviction),
      largest_piece_(config.max_num_batched_tokens),
      free_(usable_blocks()) {}

std::int64_t EvictingKvCache::most_blocks(std::int64_t tokens) const {
  if (eviction_.policy == KvEviction::Policy::h2o) return blocks_for(tokens);
  return blocks_for(std::min(tokens, eviction_.most_kept() + largest_piece_));
}

bool EvictingKvCache::allocate(KvSequence& sequence, const SlotRequest& request) {
  const std::int64_t tokens = request.computed + request.new_tokens;
  // A piece of a prompt stands beside what is kept; a decoded token takes the slot of the one it drives out.
  const std::int64_t slots = request.in_prompt ? eviction_.kept(request.computed, true) + request.new_tokens
                                               : eviction_.kept(tokens, false);
  const std::int64_t wanted = blocks_for(slots);
  const std::int64_t whole = request.whole_must_fit ? std::max(wanted, most_blocks(request.known)) : wanted;
  if (whole - sequence.held + request.watermark > free_) return false;

  free_ -= wanted - sequence.held;
  sequence.held = wanted;
  const std::int64_t kept = eviction_.kept(tokens, request.in_prompt);
  count_evicted_tokens((sequence.admitted ? sequence.kept : 0) + request.new_tokens - kept);
  sequence.kept = kept;
  sequence.admitted = true;
  return true;
}

void EvictingKvCache::release(KvSequence& sequence, bool /*returns*/) {
  free_ += sequence.held;
  sequence.admitted = false;
  sequence.held = sequence.committed = sequence.kept = 0;
}

}  // namespace ridgeline
