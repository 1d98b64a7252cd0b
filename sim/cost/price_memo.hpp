// Prices of batches that came before: a step's price depends on a few numbers, and in a fleet the same ones come again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cost/batch_shape.hpp"
#include "sim/cost/price.hpp"

namespace ridgeline {

/// A direct-mapped table from batches without drafts and padding, with at most one prompt piece; a batch may push out another.
/// Starts small and doubles while batches push out each other.
class PriceMemo {
 public:
  PriceMemo() : entries_(least_entries) {}

  [[nodiscard]] static bool takes(const BatchShape& batch) {
    return batch.chunks.size() <= 1 && batch.verified_drafts == 0 && batch.proposing_sequences == 0 && batch.padding == Tokens{};
  }

  /// The price under the batch's place: valid if `known`, else to be filled in.
  struct Place {
    StepPrice& price;
    bool known;
  };
  Place find(const BatchShape& batch) {
    const Key key = key_of(batch);
    Entry* entry = &entries_[index_of(key)];
    if (same(entry->key, key)) return {entry->price, true};
    if (!same(entry->key, {}) && ++pushed_out_ > entries_.size() && entries_.size() < most_entries) {
      grow();
      entry = &entries_[index_of(key)];
    }
    entry->key = key;
    return {entry->price, false};
  }

 private:
  using Key = std::array<std::int64_t, 7>;  // all zero for no batch
  struct Entry {
    Key key{};
    StepPrice price;
  };
  static constexpr std::size_t least_entries = 1U << 10;
  static constexpr std::size_t most_entries = 1U << 15;  // 6 MB

  static Key key_of(const BatchShape& batch) {
    const PrefillChunk chunk = batch.chunks.empty() ? PrefillChunk{} : batch.chunks.front();
    return {batch.decode_context.count(),   batch.decode_sequences, batch.decode_context_in_window.count(),
            batch.decode_queries.count(),   batch.sampled_sequences, chunk.new_tokens.count(),
            chunk.history.count()};
  }

  static bool same(const Key& a, const Key& b) {
    std::int64_t difference = 0;  // inlines, unlike a == b
    for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
    return difference == 0;
  }

  [[nodiscard]] std::size_t index_of(const Key& key) const {
    // The numbers that tell batches of one scenario apart, spread by odd constants; the high bits are the best mixed.
    const auto part = [&](std::size_t i) { return static_cast<std::uint64_t>(key[i]); };
    const std::uint64_t hash = part(0) * 0x9e3779b97f4a7c15ULL + part(1) * 0xc2b2ae3d27d4eb4fULL + part(2) * 0x165667b19e3779f9ULL +
                               part(5) * 0xd6e8feb86659fd93ULL + part(6) * 0xa0761d6478bd642fULL;
    return static_cast<std::size_t>((hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15ULL >> 40) & (entries_.size() - 1);
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (!same(entry.key, {})) entries_[index_of(entry.key)] = entry;
    }
    pushed_out_ = 0;
  }

  std::vector<Entry> entries_;  // a power of two
  std::size_t pushed_out_ = 0;
};

}  // namespace ridgeline
