#include "sim/serving/kv_content.hpp"

#include <algorithm>

#include "sim/base/rng.hpp"

namespace ridgeline {

namespace {

/// Tokens first … first+count-1 of a stream, after everything that `hash` covers.
std::uint64_t extend(std::uint64_t hash, std::uint64_t stream, std::int64_t first, std::int64_t count) {
  return combine64(hash * 0xbf58476d1ce4e5b9ULL + stream,
                   static_cast<std::uint64_t>(first) * 0x10001 + static_cast<std::uint64_t>(count));
}

/// The block that starts where `cursor` is, after everything that `hash` covers.
std::uint64_t extend_by_block(std::uint64_t hash, ContentCursor& cursor, std::int64_t block_size) {
  for (std::int64_t wanted = block_size; wanted > 0;) {
    cursor.refill();
    const std::int64_t taken = std::min(wanted, cursor.left());
    hash = extend(hash, cursor.stream(), cursor.offset(), taken);
    cursor.advance(taken);
    wanted -= taken;
  }
  return hash;
}

}  // namespace

ContentCursor::Run ContentCursor::run_at(std::int64_t position) {
  const std::int64_t prompt = spec_->input.count();
  if (position >= prompt) return {output_stream(spec_->row), position - prompt, everything};
  if (spec_->content && next_ < spec_->content->size()) {
    const ContentRun& run = (*spec_->content)[next_++];
    return {run.stream, run.offset.count(), std::min(run.length.count(), prompt - position)};
  }
  return {prompt_stream(spec_->row), position, prompt - position};
}

void ContentCursor::next_run() {
  while (ahead_.left == 0) ahead_ = run_at(position_);
  run_ = ahead_;
  while (run_.left != everything) {
    ahead_ = run_at(position_ + run_.left);
    if (ahead_.left == 0) continue;
    if (ahead_.stream != run_.stream || ahead_.offset != run_.offset + run_.left) break;
    run_.left = ahead_.left == everything ? everything : run_.left + ahead_.left;
  }
}

void BlockHashes::start(const RequestSpec& spec, std::int64_t block_size) {
  cursor_.start(spec);
  block_size_ = block_size;
  hashes_.clear();
  shareable_ = 0;
  if (spec.content) {
    for (const ContentRun& run : *spec.content) shareable_ += run.length.count();
    // A prompt without unique tokens is followed by outputs that later prompts can quote.
    if (shareable_ >= spec.input.count()) shareable_ = everything;
  }
}

void BlockHashes::append() {
  hashes_.push_back(extend_by_block(hashes_.empty() ? 0 : hashes_.back(), cursor_, block_size_));
}

// A span ends where its stream does, whatever follows: equal tokens make equal spans.
void BlockSpans::append() {
  cursor_.refill();
  const std::int64_t first = cursor_.position() / block_size_;
  if (cursor_.left() < block_size_) {
    chain_ = extend_by_block(chain_, cursor_, block_size_);
    spans_.push_back({chain_, first, first + 1});
    return;
  }
  const std::uint64_t key = extend(chain_, cursor_.stream(), cursor_.offset(), 0);
  if (cursor_.left() == ContentCursor::everything) {
    spans_.push_back({key, first, ContentCursor::everything});
    return;
  }
  const std::int64_t blocks = cursor_.left() / block_size_;
  spans_.push_back({key, first, first + blocks});
  chain_ = extend(key, cursor_.stream(), cursor_.offset(), blocks * block_size_);
  cursor_.advance(blocks * block_size_);
}

std::size_t BlockSpans::holding(std::int64_t block) {
  while (spans_.empty() || spans_.back().end <= block) append();
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), block,
                                      [](std::int64_t wanted, const BlockSpan& span) { return wanted < span.first; });
  return static_cast<std::size_t>(after - spans_.begin()) - 1;
}

}  // namespace ridgeline
