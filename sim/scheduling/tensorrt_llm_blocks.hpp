// TensorRT-LLM's KV blocks with reuse: prompts that begin alike share blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/scheduling/sequence.hpp"
#include "sim/serving/kv_run_cache.hpp"

namespace ridgeline {

struct TrtSequence : Sequence {
  KvSequence kv;
};

/// Blocks can be reused from when their context is computed, not while it is; evicted least recently used first. A paused
/// request finds what others could find too, not what only it has.
class TrtBlocks {
 public:
  explicit TrtBlocks(const EngineConfig& config);

  void start(TrtSequence& sequence) { kv_.start(sequence.kv, sequence.request->spec); }
  [[nodiscard]] std::int64_t free() const { return kv_.free_blocks(); }

  /// Prompt tokens that need not be computed; at least one is left.
  std::int64_t cached(TrtSequence& sequence) { return kv_.find_prefix(sequence.kv, sequence.known()); }
  /// Takes the blocks of the whole context. Returns the tokens found.
  std::int64_t take_context(TrtSequence& sequence);
  /// Blocks for decoding sequences, which release them with their own.
  void take(std::int64_t blocks) { kv_.take(blocks); }
  /// The first `computed` tokens have KV: others may reuse their blocks.
  void store(TrtSequence& sequence, std::int64_t computed) { kv_.commit(sequence.kv, computed); }
  /// Stores, then frees all of its `held` blocks.
  void release(TrtSequence& sequence, std::int64_t computed, std::int64_t held);

  void begin_step() { produced_.clear(); }
  /// The context is being computed: its first block that is not cached is on its way.
  void will_produce(TrtSequence& sequence);
  /// capacityScheduler.cpp, beneficialToSkip: a context that has not begun waits a step if its first block that is not cached is
  /// on its way; else it is itself the one that produces it.
  bool worth_waiting(TrtSequence& sequence);

 private:
  [[nodiscard]] std::optional<std::uint64_t> first_new_block(TrtSequence& sequence);

  bool reuse_;
  RunKvCache kv_;
  std::vector<std::uint64_t> produced_;  // by this step's contexts; few
};

}  // namespace ridgeline
