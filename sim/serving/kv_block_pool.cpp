#include "sim/serving/kv_block_pool.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace ridgeline {

KvBlockPool::KvBlockPool(std::int64_t usable_blocks, bool prepend_unhashed)
    : blocks_(static_cast<std::size_t>(usable_blocks) + 1), prepend_unhashed_(prepend_unhashed) {
  for (BlockId id = 1; id < blocks_.size(); ++id) link(id, 0);
}

void KvBlockPool::link(BlockId id, BlockId before) {
  Block& block = blocks_[id];
  block.next = before;
  block.previous = blocks_[before].previous;
  blocks_[block.previous].next = id;
  blocks_[before].previous = id;
  ++free_;
}

void KvBlockPool::unlink(BlockId id) {
  const Block& block = blocks_[id];
  blocks_[block.previous].next = block.next;
  blocks_[block.next].previous = block.previous;
  --free_;
}

BlockId KvBlockPool::take() {
  const BlockId id = blocks_[0].next;
  if (id == 0) throw InternalError("no free KV block is left");
  unlink(id);
  if (blocks_[id].has_content) drop_content(id);
  blocks_[id].references = 1;
  return id;
}

void KvBlockPool::touch(BlockId id) {
  if (blocks_[id].references++ == 0) unlink(id);
}

void KvBlockPool::release(std::span<const BlockId> ids) {
  const auto release_one = [this](BlockId id, BlockId before) {
    if (blocks_[id].references < 1) throw InternalError("a KV block is freed twice");
    if (--blocks_[id].references == 0) link(id, before);
  };
  if (prepend_unhashed_) {
    const BlockId head = blocks_[0].next;
    for (const BlockId id : ids) {
      if (id != null_block && !blocks_[id].has_content) release_one(id, head);
    }
  }
  for (const BlockId id : ids) {
    if (id != null_block && (blocks_[id].has_content || !prepend_unhashed_)) release_one(id, 0);
  }
}

BlockId KvBlockPool::find(std::uint64_t key) const {
  const auto found = by_content_.find(key);
  return found == by_content_.end() ? null_block : found->second.front();
}

void KvBlockPool::set_content(BlockId id, std::uint64_t key) {
  blocks_[id].has_content = true;
  blocks_[id].key = key;
  by_content_[key].push_back(id);
}

void KvBlockPool::drop_content(BlockId id) {
  Block& block = blocks_[id];
  const auto found = by_content_.find(block.key);
  auto& ids = found->second;
  ids.erase(std::find(ids.begin(), ids.end(), id));
  if (ids.empty()) by_content_.erase(found);
  block.has_content = false;
}

std::vector<BlockId> KvBlockPool::free_queue() const {
  std::vector<BlockId> ids;
  for (BlockId id = blocks_[0].next; id != 0; id = blocks_[id].next) ids.push_back(id);
  return ids;
}

}  // namespace ridgeline
