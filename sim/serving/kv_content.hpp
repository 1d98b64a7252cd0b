// What makes two sequences' KV blocks equal: hashes of full blocks, each covering its tokens and everything before
// them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/serving/request.hpp"

namespace ridgeline {

/// Hashes of a sequence's leading full blocks (prompt, then its own outputs), computed on demand and kept.
/// Follows vLLM's chained block hashes (v1/core/kv_cache_utils.py): equal hash <=> equal tokens from the start.
class BlockHashes {
 public:
  /// The sequence that serves `spec`; `spec` must outlive the use of `at`. Forgets earlier hashes, keeps their storage.
  void start(const RequestSpec& spec, std::int64_t block_size);

  /// Hash of block `index` of the sequence.
  std::uint64_t at(std::int64_t index) {
    while (static_cast<std::int64_t>(hashes_.size()) <= index) append();
    return hashes_[static_cast<std::size_t>(index)];
  }

  /// Leading tokens that another request may share; beyond them come tokens unique to this one.
  [[nodiscard]] std::int64_t shareable_tokens() const { return shareable_; }
  static constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();

 private:
  void append();
  void next_run();

  const RequestSpec* spec_ = nullptr;
  std::int64_t block_size_ = 0;
  std::int64_t shareable_ = 0;
  std::size_t next_ = 0;       // index of the run after the one in progress
  std::uint64_t stream_ = 0;   // of the run in progress
  std::int64_t offset_ = 0;    // next token in it
  std::int64_t left_ = 0;      // tokens left in it
  std::int64_t position_ = 0;  // tokens hashed so far
  std::vector<std::uint64_t> hashes_;
};

}  // namespace ridgeline
