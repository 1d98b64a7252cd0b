// Prefix blocks in host memory, behind the GPU's prefix cache.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/host_link.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/kv_content.hpp"
#include "sim/serving/kv_content_index.hpp"

namespace ridgeline {

/// vLLM's native offloading (v1/kv_offload, OffloadingConnector of 0.12): every full block is stored once it is computed,
/// the least recently used one makes room, and a prefix that the GPU has lost is loaded back.
///
/// Loads and stores queue on a direction of the link each and never hold up a step. Blocks on their way are not overwritten;
/// a block can be loaded once its store has ended.
class HostKvTier {
 public:
  /// `config.offload_blocks` > 0.
  explicit HostKvTier(const HostKv& config);

  /// How many blocks from `first` to `last` can be loaded `now`, in a row from `first` on. Makes what the tier has of blocks 0 to
  /// `last` the most recently used.
  std::int64_t find(BlockHashes& hashes, std::int64_t first, std::int64_t last, Time now);
  /// Starts to load `count` blocks that were found at `first`; returns when they are there.
  Time load(BlockHashes& hashes, std::int64_t first, std::int64_t count, Time now, HostTransfer& in);
  /// Starts to store the blocks from `first` to `last` that the tier does not have. Without room for one it skips the rest.
  void store(BlockHashes& hashes, std::int64_t first, std::int64_t last, Time now, HostTransfer& out);

  [[nodiscard]] std::int64_t blocks() const { return used_; }
  [[nodiscard]] std::int64_t capacity() const { return static_cast<std::int64_t>(entries_.size()) - 1; }

 private:
  struct Entry {
    std::uint64_t content = 0;
    Time stored;  // its store ends
    Time loaded;  // its latest load ends
    std::uint32_t older = 0;
    std::uint32_t newer = 0;
  };

  [[nodiscard]] HostTransfer transfer(std::int64_t blocks) const {
    return {.sequences = 1, .blocks = blocks, .copies = blocks, .bytes = config_.block_bytes * blocks};
  }
  void make_newest(std::uint32_t entry);
  void unlink(std::uint32_t entry);
  /// An entry to overwrite, unlinked; none if all are on their way.
  std::uint32_t take_entry(Time now);

  HostKv config_;
  std::vector<Entry> entries_;  // 0 is the anchor of the ring from the oldest to the newest
  ContentIndex index_;          // content -> entry
  std::int64_t used_ = 0;
  Time loads_end_;
  Time stores_end_;
};

}  // namespace ridgeline
