// KV memory handed out in contiguous ranges, as engines did before paging.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "sim/base/error.hpp"

namespace ridgeline {

/// First fit over the free ranges, neighbours merged. Ranges are counted in blocks.
class ContiguousPool {
 public:
  explicit ContiguousPool(std::int64_t blocks) : free_(blocks) {
    if (blocks > 0) holes_.emplace(0, blocks);
  }

  [[nodiscard]] std::int64_t free_blocks() const { return free_; }

  /// Whether some hole is long enough.
  [[nodiscard]] bool fits(std::int64_t blocks) const { return first_fit(blocks) != holes_.end(); }

  /// First block of the range taken, or nothing if no hole is long enough.
  std::optional<std::int64_t> take(std::int64_t blocks) {
    const auto hole = first_fit(blocks);
    if (hole == holes_.end()) return std::nullopt;
    const auto [start, length] = *hole;
    holes_.erase(hole);
    if (length > blocks) holes_.emplace(start + blocks, length - blocks);
    free_ -= blocks;
    return start;
  }

  void give_back(std::int64_t start, std::int64_t blocks) {
    auto next = holes_.lower_bound(start);
    const bool has_before = next != holes_.begin();
    const auto before = has_before ? std::prev(next) : next;
    const bool overlaps_before = has_before && before->first + before->second > start;
    if (overlaps_before || (next != holes_.end() && next->first < start + blocks)) throw InternalError("a KV range is freed twice");
    free_ += blocks;
    if (next != holes_.end() && next->first == start + blocks) {
      blocks += next->second;
      holes_.erase(next);
    }
    if (has_before && before->first + before->second == start) before->second += blocks;
    else holes_.emplace(start, blocks);
  }

 private:
  using Holes = std::map<std::int64_t, std::int64_t>;  // start -> length

  [[nodiscard]] Holes::const_iterator first_fit(std::int64_t blocks) const {
    auto hole = holes_.begin();
    while (hole != holes_.end() && hole->second < blocks) ++hole;
    return hole;
  }

  Holes holes_;
  std::int64_t free_;
};

}  // namespace ridgeline
