#include "models/attention_work.hpp"

#include <algorithm>

namespace ridgeline {
namespace {

/// 1 + 2 + … + n.
double triangle(std::int64_t n) { return 0.5 * static_cast<double>(n) * static_cast<double>(n + 1); }

/// Pairs of the queries at positions 0 … n-1.
double pairs_before(std::int64_t n, Visibility visibility, std::int64_t window) {
  if (visibility == Visibility::sliding) {
    const std::int64_t growing = std::min(n, window);
    return triangle(growing) + static_cast<double>(n - growing) * static_cast<double>(window);
  }
  if (visibility == Visibility::chunked)
    return static_cast<double>(n / window) * triangle(window) + triangle(n % window);
  return triangle(n);
}

}  // namespace

double query_key_pairs(const PrefillChunk& chunk, Visibility visibility, std::int64_t window) {
  const std::int64_t begin = chunk.history.count();
  const std::int64_t end = begin + chunk.new_tokens.count();
  if (visibility == Visibility::bidirectional) return static_cast<double>(end - begin) * static_cast<double>(end);
  return pairs_before(end, visibility, window) - pairs_before(begin, visibility, window);
}

std::int64_t visible_tokens(const PrefillChunk& chunk, Visibility visibility, std::int64_t window) {
  std::int64_t history = chunk.history.count();
  if (visibility == Visibility::sliding) history = std::min(history, window - 1);
  if (visibility == Visibility::chunked) history %= window;
  return history + chunk.new_tokens.count();
}

}  // namespace ridgeline
