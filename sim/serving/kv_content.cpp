#include "sim/serving/kv_content.hpp"

#include <algorithm>

#include "sim/base/rng.hpp"

namespace ridgeline {

void BlockHashes::start(const RequestSpec& spec, std::int64_t block_size) {
  spec_ = &spec;
  block_size_ = block_size;
  next_ = 0;
  left_ = position_ = 0;
  hashes_.clear();
  shareable_ = 0;
  if (spec.content) {
    for (const ContentRun& run : *spec.content) shareable_ += run.length.count();
    // A prompt without unique tokens is followed by outputs that later prompts can quote.
    if (shareable_ >= spec.input.count()) shareable_ = everything;
  }
}

void BlockHashes::next_run() {
  const std::int64_t prompt = spec_->input.count();
  if (position_ >= prompt) {
    stream_ = output_stream(spec_->row);
    offset_ = position_ - prompt;
    left_ = everything;
    return;
  }
  if (spec_->content && next_ < spec_->content->size()) {
    const ContentRun& run = (*spec_->content)[next_++];
    stream_ = run.stream;
    offset_ = run.offset.count();
    left_ = std::min(run.length.count(), prompt - position_);
    return;
  }
  stream_ = prompt_stream(spec_->row);
  offset_ = position_;
  left_ = prompt - position_;
}

namespace {

/// Tokens first … first+count-1 of a stream, after everything that `hash` covers.
std::uint64_t extend(std::uint64_t hash, std::uint64_t stream, std::int64_t first, std::int64_t count) {
  return combine64(hash * 0xbf58476d1ce4e5b9ULL + stream,
                   static_cast<std::uint64_t>(first) * 0x10001 + static_cast<std::uint64_t>(count));
}

}  // namespace

void BlockHashes::append() {
  std::uint64_t hash = hashes_.empty() ? 0 : hashes_.back();
  if (left_ > block_size_) {  // the usual case: the block lies inside one run, and the run goes on
    hashes_.push_back(extend(hash, stream_, offset_, block_size_));
    offset_ += block_size_;
    position_ += block_size_;
    if (left_ != everything) left_ -= block_size_;
    return;
  }
  std::int64_t wanted = block_size_;
  while (wanted > 0) {
    while (left_ == 0) next_run();
    // Runs that continue each other are one piece, so that the hash depends on the tokens alone.
    const std::uint64_t stream = stream_;
    const std::int64_t first = offset_;
    std::int64_t piece = 0;
    do {
      const std::int64_t taken = std::min(wanted, left_);
      piece += taken;
      wanted -= taken;
      offset_ += taken;
      position_ += taken;
      if (left_ != everything) left_ -= taken;
      while (left_ == 0 && wanted > 0) next_run();
    } while (wanted > 0 && stream_ == stream && offset_ == first + piece);
    hash = extend(hash, stream, first, piece);
  }
  hashes_.push_back(hash);
}

}  // namespace ridgeline
