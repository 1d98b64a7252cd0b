// The seam between a paged scheduler and the bookkeeping of its KV blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/serving/engine_config.hpp"
#include "sim/serving/kv_content.hpp"

namespace ridgeline {

/// Consecutive blocks with content that one sequence references (RunKvCache).
struct KvHold {
  std::uint32_t run = 0;    ///< the run that the first block is in; the others follow in it or in what was cut off it
  std::int64_t blocks = 0;  ///< at least 1
};

/// Blocks of one sequence. The cache fills it; the scheduler only carries it.
struct KvSequence {
  BlockHashes hashes;
  BlockSpans spans;
  bool admitted = false;                           ///< holds its cached prefix already: no look-up any more
  bool returned = false;                           ///< was preempted: looks for its own blocks when it comes back
  std::int64_t held = 0;                           ///< blocks, all groups together, those out of a window not counted
  std::int64_t kept = 0;                           ///< tokens not evicted (EvictingKvCache)
  std::int64_t committed = 0;                      ///< leading tokens whose full blocks are in the prefix cache
  std::vector<std::vector<std::uint32_t>> tables;  ///< per group: block ids in order (PagedKvCache)
  std::vector<KvHold> shared;                      ///< leading blocks that have an identity (RunKvCache)
  std::int64_t shared_blocks = 0;                  ///< so many
};

/// Slots that one scheduling decision asks for.
struct SlotRequest {
  std::int64_t computed = 0;    ///< tokens whose KV exists or is in flight, a cache hit included
  std::int64_t processed = 0;   ///< of those, tokens of steps that have ended: what a window may drop is below
  std::int64_t new_tokens = 0;  ///< tokens to compute, drafts included
  std::int64_t lookahead = 0;   ///< further slots, for the drafter
  std::int64_t known = 0;       ///< prompt and outputs so far: drafts beyond are not committed to the prefix cache
  bool whole_must_fit = false;  ///< admission gate: all known tokens must fit in the free blocks now
  std::int64_t watermark = 0;   ///< blocks to leave free
  bool in_prompt = false;       ///< computes a piece of a prompt, not a decoded token
  bool commits = true;          ///< false: the blocks are yet to be loaded, nobody may share them
};

/// Block bookkeeping of one replica, following vLLM V1 (v1/core: kv_cache_manager, block_pool).
class KvCache {
 public:
  virtual ~KvCache() = default;

  /// A request enters: forgets what `sequence` held before. `spec` must outlive its stay.
  void start(KvSequence& sequence, const RequestSpec& spec) const {
    sequence.hashes.start(spec, block_size_);
    sequence.spans.start(spec, block_size_);
    sequence.admitted = sequence.returned = false;
    sequence.held = sequence.committed = sequence.kept = sequence.shared_blocks = 0;
    sequence.shared.clear();
  }

  /// Tokens of the longest cached prefix, at most known - 1. The blocks stay where they are until `allocate`.
  virtual std::int64_t find_prefix(KvSequence& sequence, std::int64_t known) = 0;

  /// Takes the blocks, those of the prefix just found included, and makes full blocks of known tokens visible to
  /// others. False: not enough free blocks, and nothing was taken (blocks that left a window are freed all the same).
  virtual bool allocate(KvSequence& sequence, const SlotRequest& request) = 0;

  /// Makes full blocks of the first `tokens` tokens visible.
  virtual void commit(KvSequence& sequence, std::int64_t tokens) = 0;

  /// The sequence ends, or is preempted and `returns`: its blocks are free, tail first; cached content survives until
  /// overwritten.
  virtual void release(KvSequence& sequence, bool returns) = 0;

  [[nodiscard]] virtual std::int64_t free_blocks() const = 0;
  [[nodiscard]] std::int64_t usable_blocks() const { return usable_blocks_; }
  [[nodiscard]] std::int64_t block_size() const { return block_size_; }

  /// Tokens of running sequences dropped since the last call, and cached blocks overwritten.
  std::int64_t take_evicted_tokens() { return std::exchange(evicted_tokens_, 0); }
  std::int64_t take_evicted_blocks() { return std::exchange(evicted_blocks_, 0); }

  /// Blocks that a lone sequence of `tokens` tokens needs at most.
  [[nodiscard]] virtual std::int64_t most_blocks(std::int64_t tokens) const = 0;

 protected:
  /// `config.num_gpu_blocks` counts vLLM's null block, which holds nothing.
  explicit KvCache(const EngineConfig& config)
      : block_size_(config.block_size), usable_blocks_(config.num_gpu_blocks - 1) {}

  void count_evicted_tokens(std::int64_t tokens) { evicted_tokens_ += tokens; }
  void count_evicted_blocks(std::int64_t blocks) { evicted_blocks_ += blocks; }

 private:
  std::int64_t evicted_tokens_ = 0;
  std::int64_t evicted_blocks_ = 0;
  std::int64_t block_size_;
  std::int64_t usable_blocks_;
};

/// A cache for `config`: EvictingKvCache where tokens are evicted; RunKvCache for one full-attention group unless exact steps are asked for, else PagedKvCache.
/// `steps_in_flight` bounds the tokens in flight that a window can't drop yet.
std::unique_ptr<KvCache> make_kv_cache(const EngineConfig& config, int steps_in_flight);

}  // namespace ridgeline
