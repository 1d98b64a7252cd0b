#include "sim/scheduling/decode_set.hpp"

#include <algorithm>

namespace ridgeline {

DecodeSet::DecodeSet(std::int64_t block_size, std::int64_t window)
    : block_size_(block_size), window_(window), by_phase_(static_cast<std::size_t>(block_size), 0) {}

void DecodeSet::join(Sequence& sequence) {
  sequence.joined = steps_;
  sequence.decoding = true;
  if (!ends_.insert(end_of(sequence)).second) throw InternalError("two decoding sequences share a place in the running order");
  ++by_phase_[due_phase(sequence)];
  context_ += sequence.known();
  count_in_window(sequence, +1);
  if (newcomers_.empty() || newcomers_.back().last_chunk != sequence.last_chunk) newcomers_.push_back({sequence.last_chunk, 0});
  ++newcomers_.back().count;
}

void DecodeSet::leave(Sequence& sequence) {
  ends_.erase(end_of(sequence));
  --by_phase_[due_phase(sequence)];
  count_in_window(sequence, -1);
  if (sequence.joined < steps_) {
    --old_members_;
    sequence.last_chunk = last_step_;
  } else {
    const auto same = [&](const Newcomers& group) { return group.last_chunk == sequence.last_chunk; };
    --std::find_if(newcomers_.rbegin(), newcomers_.rend(), same)->count;
  }
  sequence.outputs = outputs(sequence);
  sequence.computed = sequence.known() - 1;
  sequence.decoding = false;
  context_ -= sequence.known();
}

std::vector<Sequence*> DecodeSet::in_order() const {
  std::vector<Sequence*> members;
  members.reserve(ends_.size());
  for (const End& end : ends_) members.push_back(end.sequence);
  std::sort(members.begin(), members.end(), EarlierSequence{});
  return members;
}

void DecodeSet::fill(BatchShape& batch) const {
  batch.decode_sequences += size();
  batch.decode_queries += Tokens{size()};
  batch.decode_context += Tokens{context_};
  batch.decode_context_in_window += Tokens{context_in_window_};
  batch.sampled_sequences += size();
}

void DecodeSet::look_ahead(std::int64_t most, std::int64_t free, std::int64_t reserve,
                           std::vector<std::int64_t>& free_blocks) const {
  most = std::min(most, ends_.begin()->step - steps_ - 1);
  if (!reaching_window_.empty()) most = std::min(most, reaching_window_.begin()->first - steps_);
  for (std::int64_t step = 1; step <= most; ++step) {
    free -= by_phase_[static_cast<std::size_t>((steps_ + step) % block_size_)];
    if (free < reserve) return;
    free_blocks.push_back(free);
  }
}

bool DecodeSet::all_delivered_at(Time time) const {
  return (old_members_ == 0 || last_step_ == time) &&
         std::all_of(newcomers_.begin(), newcomers_.end(),
                     [time](const Newcomers& group) { return group.count == 0 || group.last_chunk == time; });
}

void DecodeSet::advance(Time now, SchedulerListener& listener) {
  if (old_members_ > 0) listener.chunks(old_members_, old_members_, last_step_);
  for (const Newcomers& group : newcomers_) {
    if (group.count > 0) listener.chunks(group.count, group.count, group.last_chunk);
  }
  count_steps(1, now);
}

void DecodeSet::pass(std::int64_t steps, Time now) { count_steps(steps, now); }

void DecodeSet::count_steps(std::int64_t steps, Time now) {
  newcomers_.clear();
  old_members_ = size();
  last_step_ = now;
  steps_ += steps;
  context_ += steps * size();
  context_in_window_ += steps * below_window_;
  while (!reaching_window_.empty() && reaching_window_.begin()->first == steps_) {
    below_window_ -= reaching_window_.begin()->second;
    reaching_window_.erase(reaching_window_.begin());
  }
}

void DecodeSet::take_ended(std::vector<Sequence*>& ended) {
  while (!ends_.empty() && ends_.begin()->step <= steps_) {
    Sequence& sequence = *ends_.begin()->sequence;
    leave(sequence);
    ended.push_back(&sequence);
  }
}

std::size_t DecodeSet::due_phase(const Sequence& member) const {
  // A block opens when the tokens with KV fill whole blocks: (computed at joining + steps since) divides.
  const std::int64_t at_step_zero = (member.input + member.outputs - 1 - member.joined) % block_size_;
  return static_cast<std::size_t>((2 * block_size_ - at_step_zero) % block_size_);
}

DecodeSet::End DecodeSet::end_of(const Sequence& member) const {
  return {member.joined + member.output - member.outputs, const_cast<Sequence*>(&member)};
}

void DecodeSet::count_in_window(const Sequence& member, std::int64_t sign) {
  if (window_ == 0) return;
  const std::int64_t known = member.input + outputs(member);
  context_in_window_ += sign * std::min(known, window_);
  if (known >= window_) return;
  below_window_ += sign;
  const auto reached = reaching_window_.try_emplace(steps_ + window_ - known, 0).first;
  reached->second += sign;
  if (reached->second == 0) reaching_window_.erase(reached);
}

}  // namespace ridgeline
