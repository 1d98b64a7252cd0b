// Host memory that takes the KV of preempted sequences until they come back.
#pragma once

#include <cstdint>
#include <set>

#include "sim/scheduling/sequence.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// vLLM V0's CPU blocks and its queue of swapped groups, first come first (core/block_manager.py, core/scheduler.py).
class SwapSpace {
 public:
  explicit SwapSpace(const HostKv& host) : host_(host), free_(host.swap_blocks) {}

  [[nodiscard]] bool empty() const { return sequences_.empty(); }
  [[nodiscard]] std::int64_t sequences() const { return static_cast<std::int64_t>(sequences_.size()); }
  [[nodiscard]] std::int64_t used_blocks() const { return host_.swap_blocks - free_; }
  /// The one to come back next.
  [[nodiscard]] Sequence& first() const { return **sequences_.begin(); }

  /// The sequence leaves the GPU with `blocks` blocks. Throws ConfigError when they don't fit, as the engine aborts.
  void put(Sequence& sequence, std::int64_t blocks, HostTransfer& out);
  /// The first comes back with its `blocks` blocks.
  void take_first(std::int64_t blocks, HostTransfer& in);

 private:
  [[nodiscard]] HostTransfer transfer(std::int64_t blocks) const {
    return {.sequences = 1, .blocks = blocks, .copies = blocks * host_.copies_per_block, .bytes = host_.block_bytes * blocks};
  }

  HostKv host_;
  std::int64_t free_;  // blocks
  std::set<Sequence*, EarlierSequence> sequences_;
};

}  // namespace ridgeline
