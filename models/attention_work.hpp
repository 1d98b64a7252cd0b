// How many query-key pairs and cached tokens attention touches: closed forms, so that a chunk costs O(1).
#pragma once

#include <cstdint>

#include "sim/cost/operator.hpp"

namespace ridgeline {

/// Which keys a query sees beside causality.
enum class Visibility : std::uint8_t { full, sliding, chunked, bidirectional };

/// Query-key pairs of `chunk`: the query at position p sees p + 1 keys, at most `window` of them (sliding), or those
/// since the last multiple of `window` (chunked), or all keys of the chunk (bidirectional).
double query_key_pairs(const PrefillChunk& chunk, Visibility visibility, std::int64_t window);

/// Cached tokens that the chunk's queries read, each once, its own included.
std::int64_t visible_tokens(const PrefillChunk& chunk, Visibility visibility, std::int64_t window);

}  // namespace ridgeline
