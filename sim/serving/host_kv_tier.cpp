#include "sim/serving/host_kv_tier.hpp"

#include <algorithm>

namespace ridgeline {

HostKvTier::HostKvTier(const HostKv& config) : config_(config), entries_(static_cast<std::size_t>(config.offload_blocks) + 1) {}

void HostKvTier::unlink(std::uint32_t entry) {
  const Entry& gone = entries_[entry];
  entries_[gone.older].newer = gone.newer;
  entries_[gone.newer].older = gone.older;
}

void HostKvTier::make_newest(std::uint32_t entry) {
  const std::uint32_t newest = entries_[0].older;
  entries_[entry].older = newest;
  entries_[entry].newer = 0;
  entries_[newest].newer = entry;
  entries_[0].older = entry;
}

std::int64_t HostKvTier::find(BlockHashes& hashes, std::int64_t first, std::int64_t last, Time now) {
  std::int64_t end = first;
  for (; end < last; ++end) {
    const std::uint32_t entry = index_.find(hashes.at(end));
    if (entry == ContentIndex::none || entries_[entry].stored > now) break;
  }
  // From the tail: of one prefix the first blocks, which more prompts share, are overwritten last.
  for (std::int64_t block = last - 1; block >= 0; --block) {
    const std::uint32_t entry = index_.find(hashes.at(block));
    if (entry != ContentIndex::none) unlink(entry), make_newest(entry);
  }
  return end - first;
}

Time HostKvTier::load(BlockHashes& hashes, std::int64_t first, std::int64_t count, Time now, HostTransfer& in) {
  const HostTransfer moved = transfer(count);
  loads_end_ = std::max(loads_end_, now) + config_.link.time(moved);
  for (std::int64_t block = first; block < first + count; ++block) entries_[index_.find(hashes.at(block))].loaded = loads_end_;
  in += moved;
  return loads_end_;
}

std::uint32_t HostKvTier::take_entry(Time now) {
  if (used_ < capacity()) return static_cast<std::uint32_t>(++used_);
  std::uint32_t entry = entries_[0].newer;
  while (entry != 0 && (entries_[entry].stored > now || entries_[entry].loaded > now)) entry = entries_[entry].newer;
  if (entry == 0) return ContentIndex::none;
  unlink(entry);
  index_.replace(entries_[entry].content, entry, ContentIndex::none);
  return entry;
}

void HostKvTier::store(BlockHashes& hashes, std::int64_t first, std::int64_t last, Time now, HostTransfer& out) {
  std::int64_t stored = 0;
  for (std::int64_t block = first; block < last; ++block) {
    const std::uint64_t content = hashes.at(block);
    if (index_.find(content) != ContentIndex::none) continue;
    const std::uint32_t entry = take_entry(now);
    if (entry == ContentIndex::none) break;
    ++stored;
    const Time end = std::max(stores_end_, now) + config_.link.time(transfer(stored));
    entries_[entry] = {.content = content, .stored = end, .loaded = {}, .older = 0, .newer = 0};
    make_newest(entry);
    index_.insert(content, entry);
  }
  if (stored == 0) return;
  const HostTransfer moved = transfer(stored);
  stores_end_ = std::max(stores_end_, now) + config_.link.time(moved);
  out += moved;
}

}  // namespace ridgeline
