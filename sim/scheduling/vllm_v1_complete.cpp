// Applying the outputs of a step.
#include <algorithm>

#include "sim/scheduling/vllm_v1.hpp"

namespace ridgeline {

void VllmV1Scheduler::complete(Time now, SchedulerListener& listener) {
  Step& step = in_flight_.front();
  in_flight_.pop();
  if (step.decodes > 0) complete_lockstep(step, listener);
  for (const Row& row : step.rows) {
    if (row.in_lockstep) continue;
    if (row.sequence->pace == vllm_v1::Pace::walked) complete_row(row, now, listener);
    else complete_joined(row, now, listener);
  }
  last_complete_ = now;
  // Here rather than when planned: steps passed in a run count with the next that is completed.
  if (const std::int64_t blocks = kv_->take_evicted_blocks(); blocks > 0) listener.cache_evicted(blocks);
  if (speculation_.on()) {
    listener.verified(verified_);
    verified_ = {};
  }
  if (keep_rows_) log_rows(step);
  for (const Row& row : step.rows) unpin(*row.sequence);
  for (Sequence* sequence : step.ending) unpin(*sequence);
  for (Sequence* sequence : step.preempted) unpin(*sequence);
}

void VllmV1Scheduler::complete_row(const Row& row, Time now, SchedulerListener& listener) {
  Sequence& sequence = *row.sequence;
  sequence.in_flight -= row.scheduled;
  const bool stale = sequence.stale > 0;
  if (stale) sequence.stale -= row.scheduled;
  else if (tier_) offload(sequence, now, listener);
  // An end-of-sequence token was found while this step was in flight: computed for nothing.
  if (sequence.state == State::finished || !row.samples) return;

  std::int64_t accepted = 0;
  if (row.drafts > 0) {
    if (!row.padded) {
      accepted = speculation_.accept(sequence, row.drafts);
      ++verified_.sequences;
      verified_.drafts += row.drafts;
      verified_.accepted += accepted;
    }
    if (!stale) {
      const std::int64_t rejected = row.drafts - accepted;
      sequence.computed -= rejected;
      if (config_.async_scheduling) sequence.placeholders -= rejected;
    }
  }
  const std::int64_t tokens = std::min(accepted + 1, sequence.target - sequence.outputs);
  if (config_.async_scheduling && !stale) sequence.placeholders -= tokens;
  if (row.decode) {
    ++verified_.decodes;
    verified_.decoded_tokens += tokens;
  }
  deliver(sequence, tokens, now, listener);
  if (sequence.state == State::running) {
    sequence.prefilling = false;
    if (config_.async_scheduling) kv_->commit(sequence.kv, sequence.computed - sequence.placeholders);
    else if (row.proposes > 0 && speculation_.finds_drafts(sequence)) sequence.drafts = row.proposes;
  }
  if (sequence.outputs == sequence.target) finish(sequence, listener);
}

void VllmV1Scheduler::deliver(Sequence& sequence, std::int64_t tokens, Time now, SchedulerListener& listener) {
  if (sequence.outputs == 0) listener.first_token(*sequence.request);
  else listener.chunks(1, tokens, sequence.last_chunk);
  sequence.outputs += tokens;
  futile_preemptions_ = 0;
  sequence.last_chunk = now;
}

void VllmV1Scheduler::finish(Sequence& sequence, SchedulerListener& listener) {
  if (sequence.state == State::running) {
    running_.remove(&sequence);
    kv_->release(sequence.kv, false);
  } else {
    waiting_.remove(&sequence);
  }
  forget(sequence, listener);
}

void VllmV1Scheduler::forget(Sequence& sequence, SchedulerListener& listener) {
  sequence.state = State::finished;
  listener.finished(*sequence.request);
  sequence.request = nullptr;
}

void VllmV1Scheduler::unpin(Sequence& sequence) {
  if (--sequence.pins == 0 && sequence.state == State::finished) spare_.push_back(&sequence);
}

void VllmV1Scheduler::log_rows(const Step& step) {
  rows_.clear();
  for (const Row& row : step.rows) {
    const Sequence& sequence = *row.sequence;
    // Tokens of the next step, which async scheduling has planned already, are not computed yet.
    std::int64_t computed = sequence.computed - (sequence.in_flight - sequence.stale);
    std::int64_t outputs = sequence.outputs;
    if (row.in_lockstep) {
      computed = sequence.base + step.tick;
      outputs = std::min(sequence.target, computed - sequence.prompt + 1);
    }
    rows_.push_back({.request = sequence.row,
                     .kind = row.logged_as_prefill ? StepRow::Kind::prefill : StepRow::Kind::decode,
                     .scheduled = Tokens{row.scheduled},
                     .computed = Tokens{computed},
                     .output = Tokens{outputs}});
  }
  for (const Sequence* sequence : step.preempted) {
    rows_.push_back({.request = sequence->row,
                     .kind = StepRow::Kind::preempted,
                     .scheduled = {},
                     .computed = {},
                     .output = Tokens{sequence->outputs}});
  }
}

}  // namespace ridgeline
