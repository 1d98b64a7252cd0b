// The block manager with block ids: any mix of full-attention and sliding-window groups. The reference for the others.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/kv_block_pool.hpp"
#include "sim/serving/kv_cache.hpp"

namespace ridgeline {

/// vLLM's KVCacheManager with its coordinators and single-type managers
/// (v1/core/{kv_cache_manager,kv_cache_coordinator, single_type_kv_cache_manager}.py), all groups drawing from one
/// pool. Costs O(blocks touched).
class PagedKvCache final : public KvCache {
 public:
  PagedKvCache(const EngineConfig& config, int steps_in_flight);

  std::int64_t find_prefix(KvSequence& sequence, std::int64_t known) override;
  bool allocate(KvSequence& sequence, const SlotRequest& request) override;
  void commit(KvSequence& sequence, std::int64_t tokens) override;
  void release(KvSequence& sequence, bool returns) override;
  [[nodiscard]] std::int64_t free_blocks() const override { return pool_.free_blocks(); }
  [[nodiscard]] std::int64_t most_blocks(std::int64_t tokens) const override;

  [[nodiscard]] const KvBlockPool& pool() const { return pool_; }

 private:
  struct Group {
    std::int64_t window = 0;         ///< tokens; 0 = full attention
    std::int64_t admission_cap = 0;  ///< blocks a sequence ever holds at once; 0 = no cap
  };
  /// Groups of one window are looked up together: a block is found only where all of them have it.
  struct GroupSet {
    std::int64_t window = 0;
    std::vector<std::size_t> groups;
  };
  using Table = std::vector<BlockId>;

  [[nodiscard]] static std::uint64_t key_of(std::uint64_t hash, std::size_t group);
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const { return ceil_divide(tokens, block_size()); }
  [[nodiscard]] std::int64_t out_of_window(const Group& group, std::int64_t tokens) const;
  [[nodiscard]] std::int64_t missing(const KvSequence& sequence, std::int64_t tokens, std::int64_t computed,
                                     bool capped) const;

  bool find_block(KvSequence& sequence, const GroupSet& set, std::int64_t index);
  std::int64_t find_full(KvSequence& sequence, const GroupSet& set, std::int64_t most_tokens, bool drop_last);
  std::int64_t find_windowed(KvSequence& sequence, const GroupSet& set, std::int64_t most_tokens, bool drop_last);
  std::int64_t agree_on_prefix(KvSequence& sequence, std::int64_t most_tokens);

  void drop_out_of_window(KvSequence& sequence, std::int64_t processed);
  void adopt_prefix(KvSequence& sequence, std::int64_t computed);

  std::vector<Group> groups_;
  std::vector<GroupSet> sets_;  // full attention first
  bool caching_;
  bool drops_last_block_;  // EAGLE recomputes the last cached block
  std::int64_t max_model_len_;
  KvBlockPool pool_;
  std::vector<Table> found_;  // per group: blocks of the prefix just found, null where out of the window
  std::vector<BlockId> scratch_;
};

}  // namespace ridgeline
