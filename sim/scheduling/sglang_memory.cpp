#include "sim/scheduling/sglang_memory.hpp"

namespace ridgeline {

SglangMemory::SglangMemory(std::int64_t page_size, std::int64_t pages, bool has_cache)
    : page_size_(page_size), total_(page_size * pages), free_(total_), has_cache_(has_cache), tree_(page_size) {}

void SglangMemory::find_prefix(SglangSequence& sequence) {
  sequence.cached = sequence.in_tree = 0;
  if (!has_cache_) return;
  const RadixTree::Match match = tree_.match(sequence.content, sequence.known() - 1);
  sequence.cached = sequence.in_tree = match.tokens;
  sequence.node = match.node;
}

void SglangMemory::lock_prefix(SglangSequence& sequence) {
  if (has_cache_) tree_.lock(sequence.node);
}

void SglangMemory::unlock_prefix(SglangSequence& sequence) {
  if (has_cache_) tree_.unlock(sequence.node);
}

void SglangMemory::evict_if_short(std::int64_t tokens) {
  if (free_ < tokens) free_ += tree_.evict(tokens);
}

void SglangMemory::take(std::int64_t tokens) {
  if (tokens > free_) {
    throw ConfigError("SGLang would run out of KV memory here and crash: it wants " + std::to_string(tokens) +
                      " tokens and has " + std::to_string(free_) + " of " + std::to_string(total_) +
                      "; raise schedule_conservativeness or the pool");
  }
  free_ -= tokens;
}

void SglangMemory::store_unfinished(SglangSequence& sequence, std::int64_t computed) {
  sequence.cached = computed;
  if (!has_cache_) return;
  const std::int64_t pages = computed / page_size_ * page_size_;
  free_ += tree_.insert(sequence.content, pages) - sequence.in_tree;  // duplicates of what others stored meanwhile
  const RadixTree::Match match = tree_.match(sequence.content, pages);
  tree_.unlock(sequence.node);
  tree_.lock(match.node);
  sequence.node = match.node;
  sequence.in_tree = pages;
}

void SglangMemory::store_finished(SglangSequence& sequence, std::int64_t computed) {
  if (!has_cache_) {
    free_ += whole_pages(computed);
    return;
  }
  const std::int64_t pages = computed / page_size_ * page_size_;
  free_ += tree_.insert(sequence.content, pages) - sequence.in_tree;
  free_ += whole_pages(computed) - pages;  // a page begun is not worth keeping
  tree_.unlock(sequence.node);
}

void SglangMemory::drop(SglangSequence& sequence, std::int64_t computed) {
  free_ += whole_pages(computed) - sequence.in_tree;
  unlock_prefix(sequence);
  sequence.cached = sequence.in_tree = 0;
}

}  // namespace ridgeline
