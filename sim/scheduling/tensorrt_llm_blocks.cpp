#include "sim/scheduling/tensorrt_llm_blocks.hpp"

#include <algorithm>
#include <limits>

namespace ridgeline {

namespace {

// KvCache counts vLLM's null block, which TensorRT-LLM does not have, and bounds sequences by max_model_len, which the scheduler has
// checked if there is one.
EngineConfig as_cache_expects(EngineConfig config) {
  ++config.num_gpu_blocks;
  config.max_model_len = std::numeric_limits<std::int64_t>::max();
  return config;
}

}  // namespace

TrtBlocks::TrtBlocks(const EngineConfig& config) : reuse_(config.enable_prefix_caching), kv_(as_cache_expects(config)) {}

std::int64_t TrtBlocks::take_context(TrtSequence& sequence) {
  const std::int64_t found = cached(sequence);
  // Only what was found is visible to others until the context is computed.
  const SlotRequest request{.computed = found, .new_tokens = sequence.known() - found, .known = found};
  if (!kv_.allocate(sequence.kv, request)) throw InternalError("a context was scheduled that has no KV blocks");
  return found;
}

void TrtBlocks::release(TrtSequence& sequence, std::int64_t computed, std::int64_t held) {
  sequence.kv.held = held;
  store(sequence, computed);
  kv_.release(sequence.kv, false);
}

std::optional<std::uint64_t> TrtBlocks::first_new_block(TrtSequence& sequence) {
  if (!reuse_) return std::nullopt;
  // A block that only this request will ever have needs no name.
  const std::int64_t length = std::min(sequence.known(), sequence.kv.hashes.shareable_tokens());
  const std::int64_t block = cached(sequence) / kv_.block_size();
  if ((block + 1) * kv_.block_size() > length) return std::nullopt;
  return sequence.kv.hashes.at(block);
}

void TrtBlocks::will_produce(TrtSequence& sequence) {
  if (const auto block = first_new_block(sequence)) produced_.push_back(*block);
}

bool TrtBlocks::worth_waiting(TrtSequence& sequence) {
  const auto block = first_new_block(sequence);
  if (!block) return false;
  if (std::find(produced_.begin(), produced_.end(), *block) != produced_.end()) return true;
  produced_.push_back(*block);
  return false;
}

}  // namespace ridgeline
