// The fast block manager for one full-attention group: only blocks that someone may share have an identity.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/kv_cache.hpp"
#include "sim/serving/kv_content_index.hpp"

namespace ridgeline {

/// Decides as PagedKvCache does, but keeps blocks whose content no other request can name as mere counts: a request
/// with a unique prompt costs O(1), a shared prefix O(its blocks). Runs of such blocks stand in the free queue as one
/// entry. A preempted sequence may find its own blocks again, so its blocks get identities when it is preempted.
class RunKvCache final : public KvCache {
 public:
  explicit RunKvCache(const EngineConfig& config);

  std::int64_t find_prefix(KvSequence& sequence, std::int64_t known) override;
  bool allocate(KvSequence& sequence, const SlotRequest& request) override;
  void commit(KvSequence& sequence, std::int64_t tokens) override;
  void release(KvSequence& sequence, bool returns) override;
  [[nodiscard]] std::int64_t free_blocks() const override { return free_; }
  [[nodiscard]] std::int64_t most_blocks(std::int64_t tokens) const override { return blocks_for(tokens); }

  /// Takes blocks for sequences that keep count themselves; they are accounted for when those release.
  /// The caller has checked that so many are free.
  void take(std::int64_t blocks);
  /// Whether some of the sequence's blocks will have to be committed one by one.
  [[nodiscard]] bool shareable(const KvSequence& sequence) const { return caching_ && most_shared(sequence) > 0; }

 private:
  /// A block with an identity, or, in the free queue only, a run of blocks without.
  struct Node {
    std::uint64_t content = 0;
    std::int64_t run = 0;  // > 0: so many blocks without identity
    bool filled = false;   // of a run: its blocks have content, if only for nobody
    std::int32_t references = 0;
    std::uint32_t previous = 0;  // in the free queue; 0 is its anchor
    std::uint32_t next = 0;
    std::uint32_t duplicate = 0;  // next younger block with the same content
  };

  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const { return ceil_divide(tokens, block_size()); }
  /// Leading blocks that can have an identity.
  [[nodiscard]] std::int64_t most_shared(const KvSequence& sequence) const;

  std::uint32_t new_node();
  void append(std::uint32_t node);
  void unlink(std::uint32_t node);
  void append_run(std::int64_t blocks, bool filled);
  void forget(std::uint32_t node);
  void identify(KvSequence& sequence, std::int64_t block);

  bool caching_;
  bool prepend_unhashed_;
  bool drops_last_block_;
  std::int64_t max_model_len_;
  std::int64_t free_ = 0;
  std::int64_t front_ = 0;            // free blocks without content at the queue's head
  std::vector<Node> nodes_;           // 0 is the queue's anchor
  std::vector<std::uint32_t> spare_;  // unused nodes
  ContentIndex index_;                // content -> oldest block that has it

  // The prefix found last, with what it depends on: a request that can't be admitted asks again every step.
  std::vector<std::uint32_t> found_;
  std::int64_t found_unreferenced_ = 0;
  const KvSequence* found_for_ = nullptr;
  std::int64_t found_known_ = 0;
  std::uint64_t found_version_ = 0;
  std::uint64_t version_ = 0;  // counts changes of identities and of who is referenced
};

}  // namespace ridgeline
