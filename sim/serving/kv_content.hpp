// What makes two sequences' KV blocks equal: hashes of full blocks, each covering its tokens and everything before
// them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/serving/request.hpp"

namespace ridgeline {

/// Walks a sequence's tokens as runs of content: its prompt's, what is unique to it, then its outputs.
class ContentCursor {
 public:
  static constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();

  void start(const RequestSpec& spec) {
    spec_ = &spec;
    next_ = 0;
    position_ = run_.left = ahead_.left = 0;
  }

  /// The run in progress: its stream, the next token in it and how many are left, `everything` for outputs. Runs that
  /// continue each other are one, so that what is made of them depends on the tokens alone.
  [[nodiscard]] std::uint64_t stream() const { return run_.stream; }
  [[nodiscard]] std::int64_t offset() const { return run_.offset; }
  [[nodiscard]] std::int64_t left() const { return run_.left; }
  /// Tokens passed so far.
  [[nodiscard]] std::int64_t position() const { return position_; }
  /// Of the sequence's request.
  [[nodiscard]] std::int64_t row() const { return spec_->row; }

  /// Goes to the next run if none of this one is left.
  void refill() {
    if (run_.left == 0) next_run();
  }
  /// Passes `tokens` tokens of the run in progress.
  void advance(std::int64_t tokens) {
    run_.offset += tokens;
    position_ += tokens;
    if (run_.left != everything) run_.left -= tokens;
  }

 private:
  struct Run {
    std::uint64_t stream = 0;
    std::int64_t offset = 0;
    std::int64_t left = 0;
  };

  void next_run();
  [[nodiscard]] Run run_at(std::int64_t position);

  const RequestSpec* spec_ = nullptr;
  std::size_t next_ = 0;  // index of the prompt's run after `ahead_`
  std::int64_t position_ = 0;
  Run run_;
  Run ahead_;  // what follows the run in progress
};

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
  static constexpr std::int64_t everything = ContentCursor::everything;

 private:
  void append();

  ContentCursor cursor_;
  std::int64_t block_size_ = 0;
  std::int64_t shareable_ = 0;
  std::vector<std::uint64_t> hashes_;
};

/// Full blocks first … end-1 of a sequence whose tokens continue each other in one content stream, or one block that
/// joins several. `key` covers the first block's start and everything before: block i of two sequences is the same
/// if and only if it lies in spans with one key and one `first`.
struct BlockSpan {
  std::uint64_t key = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;  ///< `ContentCursor::everything` for outputs
};

/// A sequence's full blocks as spans, computed on demand and kept: what BlockHashes says at the cost of one hash a span.
class BlockSpans {
 public:
  /// As BlockHashes::start.
  void start(const RequestSpec& spec, std::int64_t block_size) {
    cursor_.start(spec);
    block_size_ = block_size;
    chain_ = 0;
    spans_.clear();
  }

  /// Span number `index`, from the sequence's start.
  const BlockSpan& at(std::size_t index) {
    while (spans_.size() <= index) append();
    return spans_[index];
  }
  /// The number of the span that block `block` lies in.
  std::size_t holding(std::int64_t block);
  /// Workload row of the sequence's request.
  [[nodiscard]] std::int64_t row() const { return cursor_.row(); }

 private:
  void append();

  ContentCursor cursor_;
  std::int64_t block_size_ = 0;
  std::uint64_t chain_ = 0;  // covers all spans so far
  std::vector<BlockSpan> spans_;
};

}  // namespace ridgeline
