// From block content to the blocks that hold it: an open-addressing hash table.
#pragma once

#include <cstdint>
#include <vector>

namespace ridgeline {

/// Maps 64-bit content hashes to small integers; linear probing, deletion by shifting back. Grows, never shrinks.
class ContentIndex {
 public:
  static constexpr std::uint32_t none = 0;

  /// The value stored under `key`, or none.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return none;
    for (std::size_t at = home(key);; at = next(at)) {
      if (slots_[at].value == none || slots_[at].key == key) return slots_[at].value;
    }
  }

  /// Stores or replaces; `value` is not none.
  void set(std::uint64_t key, std::uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = home(key);
    while (slots_[at].value != none && slots_[at].key != key) at = next(at);
    if (slots_[at].value == none) ++size_;
    slots_[at] = {key, value};
  }

  /// Removes a key that is present.
  void erase(std::uint64_t key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key || slots_[hole].value == none) hole = next(hole);
    for (std::size_t at = next(hole); slots_[at].value != none; at = next(at)) {
      // An entry may fill the hole unless its home lies cyclically after the hole.
      const std::size_t reach = (at - home(slots_[at].key)) & (slots_.size() - 1);
      if (reach >= ((at - hole) & (slots_.size() - 1))) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole].value = none;
    --size_;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = none;
  };

  // Keys are hashes already: their low bits are as good as any.
  [[nodiscard]] std::size_t home(std::uint64_t key) const { return static_cast<std::size_t>(key) & (slots_.size() - 1); }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    size_ = 0;
    for (const Slot& slot : old) {
      if (slot.value != none) set(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace ridgeline
