// The fast block manager for one full-attention group: blocks are handled as runs, not one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/kv_cache.hpp"
#include "sim/serving/kv_content_index.hpp"

namespace ridgeline {

/// Decides as PagedKvCache does. Blocks whose content no other request can name are mere counts; the others are runs of
/// consecutive blocks of one BlockSpan that one sequence filled, cut only where a request shares a part. A request costs
/// O(its spans), O(1) with a unique prompt. A preempted sequence may find its own blocks again, so its blocks get
/// identities when it is preempted.
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
  using RunId = std::uint32_t;
  enum class Holds : std::uint8_t { nothing, unnamed, named };  ///< unnamed: content, if only for nobody

  /// Blocks begin … end-1 of the span `key`, counted from its start. Unless named, in the free queue only and with end
  /// as the count. All blocks of a run are referenced by the same sequences, or free and next to each other in the
  /// queue, the last one first.
  struct Run {
    std::uint64_t key = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int32_t references = 0;
    Holds holds = Holds::nothing;
    RunId previous = 0;  // in the free queue; 0 is its anchor
    RunId next = 0;
    RunId rest = 0;     // cut off this one last; for those who reference more than this one
    RunId older = 0;    // of the same key, by when the blocks got their content; of the oldest: the youngest
    RunId younger = 0;  // 0: none
    [[nodiscard]] std::int64_t blocks() const { return end - begin; }
  };
  /// Blocks of a run, a part of a cached prefix.
  struct Find {
    RunId run = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    [[nodiscard]] std::int64_t blocks() const { return end - begin; }
  };

  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const { return ceil_divide(tokens, block_size()); }
  /// Leading blocks that can have an identity.
  [[nodiscard]] std::int64_t most_shared(const KvSequence& sequence) const;

  RunId new_run(const Run& run);
  void drop(RunId id);
  RunId split(RunId id, std::int64_t at);

  void enqueue(RunId id, RunId before);
  void unlink(RunId id);
  void free_unnamed(std::int64_t blocks, Holds holds);
  void free_named(RunId id);

  void name(RunId id);
  void forget(RunId id);
  void identify(KvSequence& sequence, std::int64_t last);
  bool extend_last(KvSequence& sequence, std::uint64_t key, std::int64_t begin, std::int64_t end);

  void find(KvSequence& sequence, std::int64_t most);
  void adopt_found(KvSequence& sequence);

  bool caching_;
  bool prepend_unhashed_;
  bool drops_last_block_;
  std::int64_t max_model_len_;
  std::int64_t free_ = 0;
  std::int64_t front_ = 0;     // free blocks without content at the queue's head
  std::vector<Run> runs_;      // 0 is the queue's anchor
  std::vector<RunId> spare_;   // unused
  ContentIndex index_;         // key -> oldest run
  std::vector<RunId> scratch_;

  // The prefix found last, with what it depends on: a request that can't be admitted asks again every step.
  std::vector<Find> found_;
  std::int64_t found_blocks_ = 0;
  std::int64_t found_unreferenced_ = 0;
  std::int64_t found_for_ = -1;  // workload row
  std::int64_t found_known_ = 0;
  std::uint64_t found_version_ = 0;
  std::uint64_t version_ = 0;  // counts changes of identities and of who is referenced
};

}  // namespace ridgeline
