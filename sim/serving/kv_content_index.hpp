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

  /// Stores `value`, which is not none, unless the key has one already; returns the value the key has.
  std::uint32_t insert(std::uint64_t key, std::uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = home(key);
    while (slots_[at].value != none && slots_[at].key != key) at = next(at);
    if (slots_[at].value != none) return slots_[at].value;
    ++size_;
    slots_[at] = {key, value};
    return value;
  }

  /// If a present key has `value`: replaces it by `heir`, or removes the key when that is none. Returns the value it
  /// had.
  std::uint32_t replace(std::uint64_t key, std::uint32_t value, std::uint32_t heir) {
    std::size_t at = home(key);
    while (slots_[at].key != key || slots_[at].value == none) at = next(at);
    const std::uint32_t had = slots_[at].value;
    if (had != value) return had;
    if (heir != none) slots_[at].value = heir;
    else close(at);
    return had;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = none;
  };

  // Keys are hashes already: their low bits are as good as any.
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(key) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  // Removes an entry; those that were pushed past it move back.
  void close(std::size_t hole) {
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

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    size_ = 0;
    for (const Slot& slot : old) {
      if (slot.value != none) insert(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace ridgeline
