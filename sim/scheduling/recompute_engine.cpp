#include "sim/scheduling/recompute_engine.hpp"

#include <algorithm>

namespace ridgeline {

RecomputeEngine::RecomputeEngine(const EngineConfig& config)
    : SequenceEngine(config),
      kept_free_(static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_gpu_blocks))) {}

void RecomputeEngine::enqueue(Request& request, Time /*now*/) {
  check_length(request.spec);
  const std::int64_t longest = request.spec.input.count() + request.spec.output.count() - 1;
  if (blocks_of(longest) + kept_free_ > total_blocks_) {
    refuse(request.spec, std::to_string(longest) + " tokens need " + std::to_string(blocks_of(longest)) + " KV blocks, of " +
                             std::to_string(total_blocks_) + " with " + std::to_string(kept_free_) + " kept free");
  }
  Sequence& sequence = sequences_.take(request);
  sequence.order = next_order_++;
  waiting_.push_back(&sequence);
}

void RecomputeEngine::release(Sequence& sequence) {
  free_blocks_ += blocks_of(sequence.computed);
  sequences_.give_back(sequence);
}

Sequence* RecomputeEngine::admissible() const {
  if (waiting_.empty() || running_ >= config_.max_num_seqs) return nullptr;
  Sequence* first = waiting_.front();
  return free_blocks_ - blocks_of(first->known()) >= kept_free_ ? first : nullptr;
}

void RecomputeEngine::admit_first(SchedulerListener& listener) {
  Sequence& sequence = *waiting_.front();
  waiting_.pop_front();
  free_blocks_ -= blocks_of(sequence.known());
  admit(sequence, Tokens{0}, listener);
}

bool RecomputeEngine::make_room(StepPlan& plan, SchedulerListener& listener) {
  if (decodes_.empty()) return false;
  if (free_blocks_ <= decodes_.blocks_due()) return make_room_one_by_one(plan, listener);
  free_blocks_ -= decodes_.blocks_due();
  return false;
}

bool RecomputeEngine::make_room_one_by_one(StepPlan& plan, SchedulerListener& listener) {
  std::vector<Sequence*> running = decodes_.in_order();
  running.insert(running.end(), partial_.begin(), partial_.end());
  std::sort(running.begin(), running.end(), EarlierSequence{});
  std::size_t end = running.size();
  for (std::size_t i = 0; i < end; ++i) {
    if (!running[i]->decoding) continue;  // its blocks are there already
    while (free_blocks_ == 0 && i < end) give_way(*running[--end], plan, listener);
    if (i < end && decodes_.block_due(*running[i])) --free_blocks_;
  }
  return end < running.size();
}

void RecomputeEngine::give_way(Sequence& victim, StepPlan& /*plan*/, SchedulerListener& listener) {
  free_blocks_ += held_by(victim);
  partial_.erase(&victim);
  preempt(victim, listener);
  waiting_.push_front(&victim);
}

std::int64_t RecomputeEngine::held_by(const Sequence& sequence) const {
  return blocks_of(sequence.decoding ? decodes_.computed(sequence) : sequence.known());
}

KvWaste RecomputeEngine::paged_waste() const {
  // A prompt in pieces holds the blocks of all of it: those of this step are among the tokens held already.
  std::int64_t partly_held = 0;
  std::int64_t to_come = 0;
  for (const Sequence* sequence : partial_) {
    to_come += sequence->known() - sequence->computed;
    partly_held += scheduled(*sequence) ? 0 : sequence->computed;
  }
  const std::int64_t held = (total_blocks_ - free_blocks_) * config_.block_size;
  return {.reserved = Tokens{to_come}, .internal = Tokens{held - tokens_held() - partly_held - to_come}, .external = {}};
}

}  // namespace ridgeline
