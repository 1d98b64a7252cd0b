#include "sim/serving/kv_run_cache.hpp"

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

RunKvCache::RunKvCache(const EngineConfig& config)
    : KvCache(config),
      caching_(config.enable_prefix_caching),
      prepend_unhashed_(config.prepend_unhashed_free_blocks),
      drops_last_block_(config.speculation && config.speculation->method == "eagle"),
      max_model_len_(config.max_model_len),
      free_(usable_blocks()),
      front_(usable_blocks()),
      nodes_(1) {}

// --- The free queue
// ----------------------------------------------------------------------------------------------------

std::uint32_t RunKvCache::new_node() {
  if (spare_.empty()) {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t node = spare_.back();
  spare_.pop_back();
  nodes_[node] = Node{};
  return node;
}

void RunKvCache::append(std::uint32_t node) {
  const std::uint32_t last = nodes_[0].previous;
  nodes_[node].previous = last;
  nodes_[node].next = 0;
  nodes_[last].next = node;
  nodes_[0].previous = node;
}

void RunKvCache::unlink(std::uint32_t node) {
  const Node& gone = nodes_[node];
  nodes_[gone.previous].next = gone.next;
  nodes_[gone.next].previous = gone.previous;
}

void RunKvCache::append_run(std::int64_t blocks, bool filled) {
  if (blocks == 0) return;
  std::uint32_t last = nodes_[0].previous;
  if (last == 0 || nodes_[last].run == 0 || nodes_[last].filled != filled) append(last = new_node());
  nodes_[last].run += blocks;
  nodes_[last].filled = filled;
}

void RunKvCache::take(std::int64_t blocks) {
  free_ -= blocks;
  if (free_ < 0) throw InternalError("no free KV block is left");
  const std::int64_t plain = std::min(blocks, front_);
  front_ -= plain;
  blocks -= plain;
  while (blocks > 0) {
    const std::uint32_t first = nodes_[0].next;
    Node& node = nodes_[first];
    const std::int64_t taken = std::min(blocks, std::max<std::int64_t>(node.run, 1));
    blocks -= taken;
    if (node.run == 0 || node.filled) count_evicted_blocks(taken);
    if (node.run > taken) {
      node.run -= taken;
      break;
    }
    unlink(first);
    if (node.run == 0) forget(first);
    spare_.push_back(first);
  }
}

// The block's content is overwritten.
void RunKvCache::forget(std::uint32_t node) {
  ++version_;
  const Node& gone = nodes_[node];
  std::uint32_t older = index_.replace(gone.content, node, gone.duplicate);
  if (older == node) return;
  while (nodes_[older].duplicate != node) older = nodes_[older].duplicate;
  nodes_[older].duplicate = gone.duplicate;
}

// --- Content
// -----------------------------------------------------------------------------------------------------------

std::int64_t RunKvCache::most_shared(const KvSequence& sequence) const {
  return sequence.returned ? BlockHashes::everything : sequence.hashes.shareable_tokens() / block_size();
}

void RunKvCache::identify(KvSequence& sequence, std::int64_t block) {
  ++version_;
  const std::uint32_t node = new_node();
  const std::uint64_t content = sequence.hashes.at(block);
  nodes_[node].content = content;
  nodes_[node].references = 1;
  std::uint32_t youngest = index_.insert(content, node);
  if (youngest != node) {
    while (nodes_[youngest].duplicate != 0) youngest = nodes_[youngest].duplicate;
    nodes_[youngest].duplicate = node;
  }
  sequence.shared.push_back(node);
}

void RunKvCache::commit(KvSequence& sequence, std::int64_t tokens) {
  if (!caching_ || tokens <= sequence.committed) return;
  const std::int64_t last = std::min(tokens / block_size(), most_shared(sequence));
  for (auto block = static_cast<std::int64_t>(sequence.shared.size()); block < last; ++block) identify(sequence, block);
  sequence.committed = tokens;
}

std::int64_t RunKvCache::find_prefix(KvSequence& sequence, std::int64_t known) {
  if (!caching_) return 0;
  if (found_for_ != &sequence || found_known_ != known || found_version_ != version_) {
    // The last known token is always computed: its logits give the next one.
    const std::int64_t most = std::min((known - 1) / block_size(), most_shared(sequence));
    found_.clear();
    for (std::int64_t block = 0; block < most; ++block) {
      const std::uint32_t node = index_.find(sequence.hashes.at(block));
      if (node == ContentIndex::none) break;
      found_.push_back(node);
    }
    if (drops_last_block_ && !found_.empty()) found_.pop_back();
    found_unreferenced_ =
        std::count_if(found_.begin(), found_.end(), [&](auto node) { return nodes_[node].references == 0; });
    found_for_ = &sequence;
    found_known_ = known;
    found_version_ = version_;
  }
  return static_cast<std::int64_t>(found_.size()) * block_size();
}

// --- Allocation
// --------------------------------------------------------------------------------------------------------

bool RunKvCache::allocate(KvSequence& sequence, const SlotRequest& request) {
  // A cached block that nobody references is still in the free queue: taking it costs one.
  const std::int64_t revived = sequence.admitted || !caching_ ? 0 : found_unreferenced_;
  const std::int64_t present = sequence.admitted ? sequence.held : request.computed / block_size();
  if (request.whole_must_fit) {
    const std::int64_t whole = blocks_for(std::min(request.known, max_model_len_));
    if (std::max<std::int64_t>(0, whole - present) + revived + request.watermark > free_) return false;
  }
  const std::int64_t slots = std::min(request.computed + request.new_tokens + request.lookahead, max_model_len_);
  const std::int64_t missing = std::max<std::int64_t>(0, blocks_for(slots) - present);
  if (missing + revived + request.watermark > free_) return false;

  if (!sequence.admitted) {
    sequence.shared.clear();
    if (present > 0) {
      sequence.shared.assign(found_.begin(), found_.end());
      for (const std::uint32_t node : found_) {
        if (nodes_[node].references++ > 0) continue;
        unlink(node);
        --free_;
      }
      ++version_;
    }
    sequence.admitted = true;
    sequence.held = present;
    sequence.committed = request.computed;
  }
  if (missing > 0) take(missing);
  sequence.held += missing;
  if (request.commits) commit(sequence, std::min(request.computed + request.new_tokens, request.known));
  return true;
}

void RunKvCache::release(KvSequence& sequence, bool returns) {
  const std::int64_t with_content = caching_ ? sequence.committed / block_size() : 0;
  if (returns && caching_ && !sequence.returned) {
    sequence.returned = true;
    for (auto block = static_cast<std::int64_t>(sequence.shared.size()); block < with_content; ++block)
      identify(sequence, block);
  }
  // Tail first: blocks without content, then content that nobody can name, then shared content.
  const std::int64_t nameless = with_content - static_cast<std::int64_t>(sequence.shared.size());
  const std::int64_t empty = sequence.held - with_content;
  free_ += nameless + empty;
  if (prepend_unhashed_) {
    front_ += empty;
  } else {
    append_run(empty, false);
  }
  append_run(nameless, true);
  for (auto node = sequence.shared.rbegin(); node != sequence.shared.rend(); ++node) {
    if (--nodes_[*node].references > 0) continue;
    append(*node);
    ++free_;
  }
  if (!sequence.shared.empty()) ++version_;
  sequence.shared.clear();
  sequence.admitted = false;
  sequence.held = sequence.committed = 0;
}

}  // namespace ridgeline
