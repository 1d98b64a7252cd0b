#include "sim/routing/prefix_index.hpp"

#include <algorithm>

namespace ridgeline {

std::vector<std::uint64_t> prompt_blocks(const RequestSpec& spec, std::int64_t block_size, std::int64_t most) {
  BlockHashes hashes;
  hashes.start(spec, block_size);
  std::vector<std::uint64_t> blocks;
  const std::int64_t count = std::min(spec.input.count() / block_size, most);
  for (std::int64_t i = 0; i < count; ++i) blocks.push_back(hashes.at(i));
  return blocks;
}

PrefixIndex::PrefixIndex(std::size_t replicas, std::size_t capacity, std::optional<Duration> lifetime)
    : capacity_(capacity), lifetime_(lifetime), recent_(replicas), matched_(replicas) {}

const std::vector<std::int64_t>& PrefixIndex::match(const std::vector<std::uint64_t>& blocks, Time now) {
  if (lifetime_) {
    for (std::uint32_t replica = 0; replica < recent_.size(); ++replica) {
      while (!recent_[replica].empty() && recent_[replica].back().at + *lifetime_ < now) forget_last(replica);
    }
  }
  std::fill(matched_.begin(), matched_.end(), 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto found = holders_.find(blocks[i]);
    if (found == holders_.end()) break;
    bool any = false;
    for (const Holder& holder : found->second) {
      std::int64_t& matched = matched_[holder.replica];
      if (matched != static_cast<std::int64_t>(i)) continue;  // it has forgotten an earlier block
      ++matched;
      any = true;
    }
    if (!any) break;
  }
  return matched_;
}

void PrefixIndex::add(std::uint32_t replica, const std::vector<std::uint64_t>& blocks, Time now) {
  std::list<Use>& recent = recent_[replica];
  for (const std::uint64_t block : blocks) {
    std::vector<Holder>& holders = holders_[block];
    const auto own = std::find_if(holders.begin(), holders.end(), [&](const Holder& h) { return h.replica == replica; });
    if (own != holders.end()) {
      own->use->at = now;
      recent.splice(recent.begin(), recent, own->use);
      continue;
    }
    recent.push_front({block, now});
    holders.push_back({replica, recent.begin()});
    if (recent.size() > capacity_) forget_last(replica);
  }
}

void PrefixIndex::forget_last(std::uint32_t replica) {
  const auto found = holders_.find(recent_[replica].back().block);
  std::erase_if(found->second, [&](const Holder& holder) { return holder.replica == replica; });
  if (found->second.empty()) holders_.erase(found);
  recent_[replica].pop_back();
}

}  // namespace ridgeline
