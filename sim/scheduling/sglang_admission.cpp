#include "sim/scheduling/sglang_admission.hpp"

namespace ridgeline {

bool SglangAdmission::continue_chunked(SglangSequence& sequence) {
  const std::int64_t wanted = sequence.known() - sequence.cached;
  // It holds memory already, so it goes on whatever the estimate says.
  std::int64_t most = std::min(chunk_left_, static_cast<std::int64_t>(left()));
  if (most <= 0) most = chunk_left_;
  sequence.extend = std::min(wanted, most);
  const bool cut_again = sequence.extend < wanted;
  batch_.push_back(&sequence);
  charge(sequence.extend, cut_again ? 0 : expected(sequence.max_tokens));
  return cut_again;
}

SglangAdmission::Verdict SglangAdmission::add(SglangSequence& sequence) {
  const std::int64_t extend = sequence.known() - sequence.cached;
  const std::int64_t input = memory_.whole_pages(extend);
  const auto total =
      static_cast<double>(extend + expected(sequence.max_tokens - sequence.outputs) + memory_.page_size());
  if (total >= left()) return Verdict::no_token;
  // Where prompts can be cut, the batch's input limit only ends it once it is used up.
  if (!chunks_ && input >= input_left_ && !batch_.empty()) return Verdict::stop;

  // Its own prefix is no longer evictable once it is in use, so the test is repeated with the lock.
  memory_.lock_prefix(sequence);
  const bool whole = !chunks_ || input <= chunk_left_;
  const std::int64_t piece = whole ? extend : chunk_left_ / memory_.page_size() * memory_.page_size();
  const Verdict refusal = total >= left() ? Verdict::no_token : piece <= 0 ? Verdict::stop : Verdict::next;
  if (refusal != Verdict::next) {
    memory_.unlock_prefix(sequence);
    return refusal;
  }
  sequence.extend = piece;
  batch_.push_back(&sequence);
  if (!whole) cut_ = &sequence;
  charge(piece, whole ? expected(sequence.max_tokens) : 0);
  return verdict();
}

void SglangAdmission::charge(std::int64_t extend, std::int64_t expected) {
  const std::int64_t pages = memory_.whole_pages(extend);
  planned_ += static_cast<double>(pages + expected + memory_.page_size());
  planned_now_ += pages + memory_.page_size();
  input_left_ -= pages;
  chunk_left_ -= pages;
}

SglangAdmission::Verdict SglangAdmission::verdict() const {
  if (left() <= 0.0 || memory_.free_or_evictable() <= planned_now_) return Verdict::no_token;
  if (input_left_ <= 0 || (chunks_ && chunk_left_ <= 0)) return Verdict::stop;
  return Verdict::next;
}

}  // namespace ridgeline
