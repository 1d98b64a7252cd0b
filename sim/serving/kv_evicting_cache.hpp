// Blocks of sequences whose KV is dropped token by token (KvEviction): a bounded number each, without identities.
#pragma once

#include "sim/serving/kv_cache.hpp"

namespace ridgeline {

/// A new token takes the slot of one that was dropped, as in TensorRT-LLM's cyclic KV cache, so a sequence holds just the
/// blocks of the tokens it keeps. Kept tokens are no prefix of anything: there is nothing to share.
class EvictingKvCache final : public KvCache {
 public:
  explicit EvictingKvCache(const EngineConfig& config);

  std::int64_t find_prefix(KvSequence& /*sequence*/, std::int64_t /*known*/) override { return 0; }
  bool allocate(KvSequence& sequence, const SlotRequest& request) override;
  void commit(KvSequence& /*sequence*/, std::int64_t /*tokens*/) override {}
  void release(KvSequence& sequence, bool returns) override;
  [[nodiscard]] std::int64_t free_blocks() const override { return free_; }
  [[nodiscard]] std::int64_t most_blocks(std::int64_t tokens) const override;

 private:
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const { return ceil_divide(tokens, block_size()); }

  KvEviction eviction_;
  std::int64_t largest_piece_;  // tokens of one prompt in one step
  std::int64_t free_;
};

}  // namespace ridgeline
