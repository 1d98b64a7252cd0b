// SGLang's token pool and the radix tree that lives in it: who owns which tokens, and when the tree gives some back.
#pragma once

#include <cstdint>

#include "sim/scheduling/sglang_sequence.hpp"
#include "sim/serving/radix_tree.hpp"

namespace ridgeline {

/// Tokens are handed out in pages. A sequence owns its tokens beyond `in_tree`; the tree owns the rest.
class SglangMemory {
 public:
  SglangMemory(std::int64_t page_size, std::int64_t pages, bool has_cache);

  [[nodiscard]] std::int64_t page_size() const { return page_size_; }
  [[nodiscard]] std::int64_t total_tokens() const { return total_; }
  [[nodiscard]] std::int64_t free_tokens() const { return free_; }
  [[nodiscard]] std::int64_t free_or_evictable() const { return free_ + tree_.evictable_tokens(); }
  [[nodiscard]] std::int64_t whole_pages(std::int64_t tokens) const { return ceil_divide(tokens, page_size_) * page_size_; }
  [[nodiscard]] RadixTree& tree() { return tree_; }
  [[nodiscard]] bool has_cache() const { return has_cache_; }

  /// Looks up the prefix of what the sequence has to compute; at least one token is left to compute.
  void find_prefix(SglangSequence& sequence);
  void lock_prefix(SglangSequence& sequence);
  void unlock_prefix(SglangSequence& sequence);

  /// Evicts if fewer than `tokens` are free: for the whole need, not for what is short.
  void evict_if_short(std::int64_t tokens);
  /// Throws ConfigError when they are not there: the engine would crash.
  void take(std::int64_t tokens);

  /// The first `computed` tokens of an unfinished sequence enter the tree (whole pages of them) and stay locked.
  void store_unfinished(SglangSequence& sequence, std::int64_t computed);
  /// The same for a finished one, which then holds nothing.
  void store_finished(SglangSequence& sequence, std::int64_t computed);
  /// Frees what a retracted sequence owns; nothing is stored.
  void drop(SglangSequence& sequence, std::int64_t computed);

 private:
  std::int64_t page_size_;
  std::int64_t total_;
  std::int64_t free_;
  bool has_cache_;
  RadixTree tree_;
};

}  // namespace ridgeline
