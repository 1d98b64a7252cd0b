// Steps in which every running sequence decodes one token, at the cost of what changes; and the way there and back.
#include <algorithm>

#include "sim/scheduling/vllm_v1.hpp"

namespace ridgeline {

using vllm_v1::Pace;

// The engine stops scheduling such a sequence once its last token is in flight; others run until that token is seen.
bool VllmV1Scheduler::ends_by_length(const Sequence& sequence) const {
  return !config_.async_scheduling || sequence.target == sequence.max_tokens ||
         sequence.prompt + sequence.target >= config_.max_model_len;
}

// No member starves, no block is missing: the walk would schedule every member without a preemption.
bool VllmV1Scheduler::lockstep_fits() const {
  const std::int64_t left = config_.max_num_batched_tokens - lockstep_.size();
  if (left < 0) return false;
  std::int64_t blocks = lockstep_.due_blocks();
  if (partial_ && left > 0) {
    const std::int64_t tokens = wanted_tokens(*partial_, Budget{.tokens = left, .rows = left});
    if (tokens > 0)
      blocks +=
          std::max<std::int64_t>(0, ceil_divide(partial_->computed + tokens, config_.block_size) - partial_->kv.held);
  }
  return blocks <= kv_->free_blocks();
}

bool VllmV1Scheduler::plan_lockstep(Step& step, BatchShape& batch, SchedulerListener& listener) {
  const std::int64_t members = lockstep_.size();
  Budget budget{.tokens = config_.max_num_batched_tokens - members, .rows = config_.max_num_batched_tokens - members};
  advance_lockstep();
  if (keep_rows_) list_members(step);
  step.tick = lockstep_.tick();
  step.decodes = members;

  plan_partial(step, budget);
  plan_waiting(step, budget, listener);
  if (members == 0 && step.rows.empty()) return false;

  batch.decode_sequences = batch.sampled_sequences = members;
  batch.decode_queries = Tokens{members};
  batch.decode_context = Tokens{lockstep_.context()};
  batch.decode_context_in_window = Tokens{lockstep_.context_in_window()};
  describe(step, batch);
  settle(step);
  return true;
}

// One more token for every member.
void VllmV1Scheduler::advance_lockstep() {
  if (const std::int64_t blocks = lockstep_.due_blocks(); blocks > 0) runs_->take(blocks);
  for (Sequence* sequence : lockstep_.due_commits()) {
    runs_->commit(sequence->kv, lockstep_.computed(*sequence) + lockstep_.commit_lag());
  }
  lockstep_.advance();
}

void VllmV1Scheduler::list_members(Step& step) {
  for (Sequence* sequence = running_.front(); sequence; sequence = sequence->next) {
    if (sequence->pace != Pace::member) continue;
    ++sequence->pins;
    step.rows.push_back({.sequence = sequence,
                         .scheduled = 1,
                         .samples = true,
                         .decode = true,
                         .logged_as_prefill = sequence->prefilling,
                         .in_lockstep = true});
  }
}

void VllmV1Scheduler::plan_partial(Step& step, Budget& budget) {
  if (!partial_ || budget.tokens == 0) return;
  Sequence& sequence = *partial_;
  const std::int64_t tokens = wanted_tokens(sequence, budget);
  if (tokens <= 0) return;
  const SlotRequest slots{.computed = sequence.computed, .new_tokens = tokens, .known = sequence.known()};
  if (!kv_->allocate(sequence.kv, slots)) throw InternalError("a step in lockstep lacks KV blocks");
  schedule(sequence, {.sequence = &sequence, .scheduled = tokens}, step, budget);
}

// After planning: prompts that are scheduled to their end join the members; members that get their last token leave.
void VllmV1Scheduler::settle(Step& step) {
  for (const Row& row : step.rows) {
    if (row.in_lockstep) continue;
    Sequence& sequence = *row.sequence;
    ++sequence.pins;
    sequence.computed += row.scheduled;
    sequence.in_flight += row.scheduled;
    sequence.partial = !row.samples;
    if (sequence.partial) {
      partial_ = &sequence;
      continue;
    }
    if (&sequence == partial_) partial_ = nullptr;
    sequence.placeholders = config_.async_scheduling ? 1 : 0;
    const std::int64_t more = sequence.target - sequence.outputs - 1;
    if (more == 0 && ends_by_length(sequence)) continue;
    sequence.joined = lockstep_.tick();
    lockstep_.join(sequence, more > 0 ? lockstep_.tick() + more : vllm_v1::Lockstep::never,
                   runs_->shareable(sequence.kv));
  }
  while (Sequence* sequence = lockstep_.pop_ending()) {
    step.ending.push_back(sequence);
    ++sequence->pins;
    if (ends_by_length(*sequence)) lockstep_.leave(*sequence);
  }
}

// --- Several steps at once
// -----------------------------------------------------------------------------------------------

// Steps in flight and to come do nothing but decode the same members, until one of those ends or a request arrives.
bool VllmV1Scheduler::is_steady() const {
  if (!in_lockstep_ || lockstep_.size() == 0 || partial_ || keep_rows_) return false;
  const std::int64_t left = config_.max_num_batched_tokens - lockstep_.size();
  const bool admits = !waiting_.empty() && left > 0 && running_.size() < config_.max_num_seqs;
  if (left < 0 || admits) return false;
  for (std::int64_t place = 0; place < in_flight_.size(); ++place) {
    const Step& step = in_flight_.at(place);
    if (step.decodes != lockstep_.size() || !step.rows.empty() || !step.ending.empty()) return false;
  }
  return true;
}

void VllmV1Scheduler::look_ahead(std::int64_t most, DecodesAhead& ahead) const {
  ahead.free_blocks.clear();
  if (!is_steady()) return;
  ahead.load = load();
  ahead.load.waiting = waiting_.size();  // the next plan sees all
  ahead.growth_in_window = Tokens{lockstep_.growing()};
  lockstep_.look_ahead(most, kv_->free_blocks(), ahead.free_blocks);
}

void VllmV1Scheduler::pass(std::int64_t steps, Time now) {
  for (std::int64_t step = 0; step < steps; ++step) advance_lockstep();
  settle(in_flight_.back());
  unseen_ = 0;
  futile_preemptions_ = 0;
  last_complete_ = now;
}

// --- There and back
// ------------------------------------------------------------------------------------------------------

// A walked sequence whose next step is one decode, like those of all others.
bool VllmV1Scheduler::may_join(const Sequence& sequence) const {
  return sequence.stale == 0 && sequence.drafts == 0 &&
         sequence.placeholders == (config_.async_scheduling ? in_flight_.size() : 0) &&
         sequence.known() + sequence.placeholders - sequence.computed == 1;
}

bool VllmV1Scheduler::may_form() {
  if (!paces_) return false;
  for (const Sequence* sequence = running_.front(); sequence; sequence = sequence->next) {
    if (sequence->partial) {
      if (sequence->next || sequence->stale > 0) return false;
    } else if (!may_join(*sequence)) {
      return false;
    } else if (in_flight_.empty() && sequence->last_chunk != last_complete_) {
      return false;  // members get their tokens at the same times
    }
  }
  if (in_flight_.empty()) return true;
  for (const Row& row : in_flight_.front().rows) {
    const Sequence& sequence = *row.sequence;
    if (sequence.state != State::running || sequence.stale > 0) return false;
    if (row.decode && sequence.last_chunk != last_complete_) return false;
  }
  return true;
}

void VllmV1Scheduler::form_lockstep() {
  in_lockstep_ = true;
  partial_ = nullptr;
  lockstep_.clear();
  const std::int64_t tick = lockstep_.tick();
  Step* step = in_flight_.empty() ? nullptr : &in_flight_.front();
  if (step) {
    // Decodes in flight become a count.
    step->tick = tick;
    for (Row& row : step->rows) {
      row.sequence->joined = row.decode ? tick - 1 : tick;
      if (!row.decode) continue;
      row.in_lockstep = true;
      row.sequence->in_flight -= row.scheduled;
      ++step->decodes;
      if (!keep_rows_) --row.sequence->pins;
    }
    if (!keep_rows_) std::erase_if(step->rows, [](const Row& row) { return row.in_lockstep; });
  }
  for (Sequence* sequence = running_.front(); sequence; sequence = sequence->next) {
    if (sequence->partial) {
      partial_ = sequence;
      continue;
    }
    if (!step) sequence->joined = tick - 1;
    const bool counted = step && sequence->joined < tick;
    const std::int64_t more = sequence->target - sequence->outputs - sequence->placeholders;
    if (more == 0 && counted) {
      step->ending.push_back(sequence);
      ++sequence->pins;
    }
    if (more == 0 && ends_by_length(*sequence)) {
      if (!counted) continue;
      sequence->pace = Pace::drained;
      sequence->base = sequence->computed - tick;
      sequence->left = tick;
      continue;
    }
    lockstep_.join(*sequence, more > 0 ? tick + more : vllm_v1::Lockstep::never, runs_->shareable(sequence->kv));
  }
}

void VllmV1Scheduler::dissolve_lockstep() {
  const std::int64_t tick = lockstep_.tick();
  const std::int64_t ahead = in_flight_.size();
  if (ahead > 0) {
    // Decodes in flight become rows again.
    Step& step = in_flight_.front();
    for (Sequence* sequence : step.ending) --sequence->pins;
    step.ending.clear();
    step.decodes = 0;
    std::vector<Row> rows;
    if (keep_rows_) {
      for (Row& row : step.rows) row.in_lockstep = row.in_lockstep && row.sequence->state == State::finished;
    } else {
      for (Sequence* sequence = running_.front(); sequence; sequence = sequence->next) {
        if (sequence->pace == Pace::walked || sequence->joined == tick) continue;
        ++sequence->pins;
        rows.push_back({.sequence = sequence, .scheduled = 1, .samples = true, .decode = true});
      }
      step.rows.insert(step.rows.begin(), rows.begin(), rows.end());
    }
  }
  for (Sequence* sequence = running_.front(); sequence; sequence = sequence->next) {
    if (sequence->pace == Pace::walked) continue;
    const bool delivered = ahead == 0 || sequence->joined < tick;
    sequence->computed = sequence->base + (sequence->pace == Pace::member ? tick : sequence->left);
    sequence->outputs = sequence->computed - sequence->prompt + 1 - ahead;
    sequence->placeholders = config_.async_scheduling ? ahead : 0;
    if (ahead > 0 && sequence->joined < tick) ++sequence->in_flight;
    if (delivered) sequence->last_chunk = last_complete_;
    sequence->kv.held = ceil_divide(sequence->computed, config_.block_size);
    sequence->kv.committed = std::max(sequence->kv.committed, sequence->computed - ahead);
    sequence->pace = Pace::walked;
  }
  lockstep_.clear();
  in_lockstep_ = false;
  partial_ = nullptr;
}

// --- Completing
// ----------------------------------------------------------------------------------------------------------

void VllmV1Scheduler::complete_lockstep(Step& step, SchedulerListener& listener) {
  futile_preemptions_ = 0;
  listener.chunks(step.decodes, step.decodes, last_complete_);
  for (Sequence* sequence : step.ending) finish_joined(*sequence, listener);
}

// The first token since the admission of a sequence that decodes in lockstep by now.
void VllmV1Scheduler::complete_joined(const Row& row, Time now, SchedulerListener& listener) {
  Sequence& sequence = *row.sequence;
  sequence.in_flight -= row.scheduled;
  if (!row.samples) return;
  deliver(sequence, 1, now, listener);
  sequence.prefilling = false;
  if (sequence.outputs == sequence.target) finish_joined(sequence, listener);
}

void VllmV1Scheduler::finish_joined(Sequence& sequence, SchedulerListener& listener) {
  if (sequence.pace == Pace::member) {
    lockstep_.leave(sequence);
    // The step in flight computes a token for nothing.
    if (!in_flight_.empty()) --in_flight_.front().decodes;
  }
  sequence.kv.held = ceil_divide(sequence.base + sequence.left, config_.block_size);
  kv_->commit(sequence.kv, sequence.prompt + sequence.target - 1);
  kv_->release(sequence.kv, false);
  running_.remove(&sequence);
  forget(sequence, listener);
}

}  // namespace ridgeline
