#include "models/attention_work.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

/// Counts pair by pair.
double counted(const PrefillChunk& chunk, Visibility visibility, std::int64_t window) {
  double pairs = 0.0;
  const std::int64_t end = chunk.history.count() + chunk.new_tokens.count();
  for (std::int64_t p = chunk.history.count(); p < end; ++p) {
    std::int64_t seen = p + 1;
    if (visibility == Visibility::sliding) seen = std::min(seen, window);
    if (visibility == Visibility::chunked) seen = p % window + 1;
    if (visibility == Visibility::bidirectional) seen = end;
    pairs += static_cast<double>(seen);
  }
  return pairs;
}

}  // namespace

TEST_CASE("closed forms of query-key pairs equal the count") {
  for (const Visibility visibility :
       {Visibility::full, Visibility::sliding, Visibility::chunked, Visibility::bidirectional}) {
    for (const std::int64_t history : {0, 1, 15, 16, 17, 100}) {
      for (const std::int64_t tokens : {1, 7, 16, 33, 250}) {
        const PrefillChunk chunk{Tokens{tokens}, Tokens{history}};
        INFO(static_cast<int>(visibility) << " history " << history << " tokens " << tokens);
        CHECK(query_key_pairs(chunk, visibility, 16) == counted(chunk, visibility, 16));
      }
    }
  }
}

TEST_CASE("a chunk reads its visible history once") {
  const PrefillChunk chunk{Tokens{10}, Tokens{100}};
  CHECK(visible_tokens(chunk, Visibility::full, 0) == 110);
  CHECK(visible_tokens(chunk, Visibility::sliding, 32) == 41);  // the first query sees 31 earlier tokens
  CHECK(visible_tokens(chunk, Visibility::chunked, 64) == 46);  // 100 = 64 + 36
}

}  // namespace ridgeline
