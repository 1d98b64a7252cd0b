// A tournament tree: the least key among n slots in O(1), a change in O(log n). Ties go to the lowest slot.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace ridgeline {

class MinTree {
 public:
  explicit MinTree(std::size_t slots)
      : leaves_(std::bit_ceil(slots)), winner_(2 * leaves_), key_(leaves_, std::numeric_limits<std::int64_t>::max()) {
    for (std::size_t i = 0; i < slots; ++i) key_[i] = 0;
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::uint32_t>(i);
    for (std::size_t node = leaves_ - 1; node >= 1; --node) play(node);
  }

  void update(std::size_t slot, std::int64_t key) {
    if (key_[slot] == key) return;
    key_[slot] = key;
    for (std::size_t node = (leaves_ + slot) / 2; node >= 1; node /= 2) play(node);
  }
  [[nodiscard]] std::uint32_t least() const { return leaves_ == 1 ? 0 : winner_[1]; }
  [[nodiscard]] std::int64_t key(std::size_t slot) const { return key_[slot]; }

 private:
  void play(std::size_t node) {
    const std::uint32_t left = winner_[2 * node];
    const std::uint32_t right = winner_[2 * node + 1];
    winner_[node] = key_[right] < key_[left] ? right : left;
  }

  std::size_t leaves_;
  std::vector<std::uint32_t> winner_;  // of each subtree; leaves behind the inner nodes
  std::vector<std::int64_t> key_;
};

}  // namespace ridgeline
