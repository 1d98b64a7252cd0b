// Physical KV blocks with the free queue that decides which cached content is overwritten first.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ridgeline {

using BlockId = std::uint32_t;

/// vLLM's block pool (v1/core/block_pool.py): ids 1 … n, id 0 is the null block. Content keys carry the KV group.
///
/// Blocks are popped from the queue's head, which drops their content. Freed blocks with content go to the tail;
/// others go to the head (`prepend_unhashed`, since 2026-06-16) or, before, to the tail as well.
class KvBlockPool {
 public:
  static constexpr BlockId null_block = 0;

  KvBlockPool(std::int64_t usable_blocks, bool prepend_unhashed);

  [[nodiscard]] std::int64_t free_blocks() const { return free_; }
  [[nodiscard]] bool referenced(BlockId id) const { return blocks_[id].references > 0; }

  /// Whether `take` would overwrite cached content.
  [[nodiscard]] bool head_has_content() const { return blocks_[blocks_[0].next].has_content; }
  /// Pops the head of the free queue; the caller has checked that there is one.
  BlockId take();
  /// One more reference to a cached block; leaves the free queue if it was there.
  void touch(BlockId id);
  /// One reference less to each; `ids` in the order in which they should be overwritten. Null blocks are skipped.
  void release(std::span<const BlockId> ids);

  /// The oldest block with this content, or null_block.
  [[nodiscard]] BlockId find(std::uint64_t key) const;
  /// The block's content is complete.
  void set_content(BlockId id, std::uint64_t key);

  /// The free queue from its head, for tests.
  [[nodiscard]] std::vector<BlockId> free_queue() const;

 private:
  struct Block {
    std::uint64_t key = 0;
    std::int32_t references = 0;
    bool has_content = false;
    BlockId previous = 0;  // in the free queue; 0 is its anchor
    BlockId next = 0;
  };

  void link(BlockId id, BlockId before);
  void unlink(BlockId id);
  void drop_content(BlockId id);

  std::vector<Block> blocks_;
  std::unordered_map<std::uint64_t, std::vector<BlockId>> by_content_;  // looked up, never iterated
  std::int64_t free_ = 0;
  bool prepend_unhashed_;
};

}  // namespace ridgeline
