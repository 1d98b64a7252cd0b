// Planning a step by walking the running list and the waiting queue, as the engine does.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/scheduling/vllm_v1.hpp"

namespace ridgeline {

namespace {

/// Without the admission gate, prompts in pieces can preempt each other for ever, in the engine as well.
constexpr std::int64_t most_futile_preemptions = 100'000;

}  // namespace

bool VllmV1Scheduler::plan_walk(Step& step, SchedulerListener& listener) {
  while (true) {
    Budget budget{.tokens = config_.max_num_batched_tokens, .rows = config_.max_num_batched_tokens};
    plan_running(step, budget, listener);
    budget.decodes_only = !step.rows.empty() && !budget.prefill_chunk;
    // Blocks just taken from a victim are for the running ones.
    if (!budget.preempted) plan_waiting(step, budget, listener);
    if (!step.rows.empty()) {
      propose(step);
      return true;
    }
    // The engine tries again at once unless it first waits for a step in flight.
    if (!budget.preempted || !in_flight_.empty()) return false;
  }
}

// One number of drafts for the whole batch, by its size when all are admitted.
void VllmV1Scheduler::propose(Step& step) const {
  if (!speculation_.on()) return;
  const std::int64_t drafts = speculation_.tokens(running_.size());
  for (Row& row : step.rows) row.proposes = row.samples ? drafts : 0;
}

// Async: the outputs in flight are sure to reach max_tokens, even if all their drafts are rejected.
bool VllmV1Scheduler::certain_to_end(const Sequence& sequence) const {
  return sequence.placeholders > 0 &&
         sequence.computed + 2 - sequence.placeholders >= sequence.prompt + sequence.max_tokens;
}

std::int64_t VllmV1Scheduler::wanted_tokens(const Sequence& sequence, const Budget& budget) const {
  std::int64_t tokens = sequence.known() + sequence.drafts + sequence.placeholders - sequence.computed;
  const std::int64_t threshold = config_.long_prefill_token_threshold;
  if (threshold > 0) tokens = std::min(tokens, threshold);
  tokens = std::min({tokens, budget.tokens, budget.rows - speculation_.draft_slots()});
  return std::min(tokens, config_.max_model_len - 1 - sequence.computed);
}

void VllmV1Scheduler::plan_running(Step& step, Budget& budget, SchedulerListener& listener) {
  Sequence* cursor = running_.front();
  while (cursor && budget.tokens > 0 && budget.rows > speculation_.draft_slots()) {
    Sequence& sequence = *cursor;
    const std::int64_t tokens = certain_to_end(sequence) ? 0 : wanted_tokens(sequence, budget);
    if (tokens <= 0) {
      // Skipped, not a stop: a later request may overtake.
      cursor = sequence.next;
      continue;
    }
    if (!make_room(sequence, tokens, step, budget, listener)) return;
    cursor = sequence.next;
    budget.prefill_chunk |= sequence.partial;
    Row row{.sequence = &sequence, .scheduled = tokens};
    row.drafts = std::clamp<std::int64_t>(sequence.computed + tokens - sequence.known() - sequence.placeholders, 0,
                                          sequence.drafts);
    sequence.drafts = 0;
    schedule(sequence, row, step, budget);
  }
}

// Preempts until `sequence` has its slots; false when it had to give way itself.
bool VllmV1Scheduler::make_room(Sequence& sequence, std::int64_t tokens, Step& step, Budget& budget,
                                SchedulerListener& listener) {
  const SlotRequest slots{.computed = sequence.computed,
                          .processed = std::max<std::int64_t>(0, sequence.computed - sequence.in_flight),
                          .new_tokens = tokens,
                          .lookahead = speculation_.lookahead(),
                          .known = sequence.known(),
                          .in_prompt = !decodes(sequence)};
  while (!kv_->allocate(sequence.kv, slots)) {
    budget.preempted = true;
    Sequence* victim = running_.back();
    if (config_.scheduling_policy == "priority") {
      // The least urgent, latest arrived; of equals the first in the list.
      victim = running_.front();
      for (Sequence* other = victim->next; other; other = other->next) {
        if (std::pair(other->priority, other->arrival) > std::pair(victim->priority, victim->arrival)) victim = other;
      }
      // If it was scheduled in this step already, its tokens go back to the budget.
      const auto row =
          std::find_if(step.rows.begin(), step.rows.end(), [&](const Row& r) { return r.sequence == victim; });
      if (row != step.rows.end()) {
        budget.tokens += row->scheduled;
        budget.rows += row->scheduled + speculation_.draft_slots();
        step.rows.erase(row);
      }
    }
    preempt(*victim, listener);
    if (victim == &sequence) return false;
  }
  return true;
}

void VllmV1Scheduler::preempt(Sequence& victim, SchedulerListener& listener) {
  if (++futile_preemptions_ > most_futile_preemptions) {
    throw ConfigError(
        fmt::format("the engine makes no progress: {} requests preempted each other {} times without a token; "
                    "{} KV blocks are too few without scheduler_reserve_full_isl",
                    running_.size() + waiting_.size(), most_futile_preemptions, kv_->usable_blocks()));
  }
  running_.remove(&victim);
  kv_->release(victim.kv, true);
  victim.state = State::preempted;
  victim.computed = 0;
  victim.drafts = 0;
  victim.placeholders = 0;
  victim.stale = victim.in_flight;
  waiting_.push_front(&victim);
  if (keep_rows_) {
    preempted_.push_back(&victim);
    ++victim.pins;
  }
  listener.preempted(*victim.request);
}

void VllmV1Scheduler::plan_waiting(Step& step, Budget& budget, SchedulerListener& listener) {
  if (!parked_.empty() && !plan_parked(step, budget, listener)) return;
  while (!waiting_.empty() && budget.tokens > 0 && budget.rows > speculation_.draft_slots() &&
         running_.size() < config_.max_num_seqs) {
    Sequence& sequence = *waiting_.front();
    const Admission answer = admit(sequence, step, budget, listener);
    if (answer == Admission::stop) break;
    waiting_.pop_front();
    if (answer == Admission::skipped) skipped_.push_back(&sequence);
  }
  for (; !skipped_.empty(); skipped_.pop_back()) waiting_.push_front(skipped_.back());
}

VllmV1Scheduler::Admission VllmV1Scheduler::admit(Sequence& sequence, Step& step, Budget& budget,
                                                  SchedulerListener& listener) {
  const std::int64_t budget_tokens = std::min(budget.tokens, budget.rows - speculation_.draft_slots());
  const bool loaded = sequence.state == State::loading;
  const std::int64_t hit = loaded ? sequence.computed : kv_->find_prefix(sequence.kv, sequence.known());
  if (tier_ && !loaded) {
    if (const std::optional<Admission> fetched = fetch(sequence, hit, listener)) return *fetched;
  }
  Row row{.sequence = &sequence, .scheduled = sequence.known() - hit};
  if (config_.pads_new_decodes && speculation_.on() && row.scheduled == 1 && budget.decodes_only) {
    // A lone token that joins pure decodes is padded to their shape, so that the step still fits a CUDA graph.
    row.scheduled = 1 + speculation_.tokens();
    row.drafts = speculation_.tokens();
    row.padded = true;
    if (row.scheduled > budget_tokens || hit + row.scheduled > config_.max_model_len) return Admission::stop;
  }
  const std::int64_t threshold = config_.long_prefill_token_threshold;
  if (threshold > 0) row.scheduled = std::min(row.scheduled, threshold);
  if (!config_.enable_chunked_prefill && row.scheduled > budget_tokens) {
    if (running_.empty() && in_flight_.empty() && step.rows.empty()) {
      throw ConfigError(
          fmt::format("request {}: {} tokens to recompute exceed max_num_batched_tokens {} with chunked prefill off",
                      sequence.row, row.scheduled, config_.max_num_batched_tokens));
    }
    return config_.chunked_off_skips ? Admission::skipped : Admission::stop;
  }
  row.scheduled = std::min(row.scheduled, budget_tokens);

  const SlotRequest slots{.computed = hit,
                          .processed = hit,
                          .new_tokens = row.scheduled,
                          .lookahead = config_.lookahead_at_admission ? speculation_.lookahead() : 0,
                          .known = sequence.known(),
                          .whole_must_fit = config_.scheduler_reserve_full_isl,
                          .watermark = (running_.empty() ? 0 : watermark_blocks_) + parked_blocks_ - sequence.parked,
                          .in_prompt = true};
  if (!kv_->allocate(sequence.kv, slots)) return Admission::stop;

  parked_blocks_ -= std::exchange(sequence.parked, 0);
  running_.push_back(&sequence);
  sequence.state = State::running;
  sequence.prefilling = true;
  sequence.computed = hit;
  listener.admitted(*sequence.request, Tokens{hit});
  schedule(sequence, row, step, budget);
  return Admission::admitted;
}

void VllmV1Scheduler::schedule(Sequence& sequence, Row row, Step& step, Budget& budget) const {
  row.samples = sequence.computed + row.scheduled >= sequence.known() + sequence.placeholders;
  row.decode = decodes(sequence);
  row.logged_as_prefill = sequence.prefilling;
  budget.tokens -= row.scheduled;
  budget.rows -= row.scheduled + speculation_.draft_slots();
  step.rows.push_back(row);
}

// Scheduled tokens count as computed from now on: the next plan may come before the outputs.
void VllmV1Scheduler::advance(Step& step) {
  for (const Row& row : step.rows) {
    Sequence& sequence = *row.sequence;
    sequence.computed += row.scheduled;
    sequence.in_flight += row.scheduled;
    sequence.partial = !row.samples;
    ++sequence.pins;
  }
  if (!config_.async_scheduling) return;
  // Drafts of a step in flight can only be verified by the very next one.
  if (speculation_.on()) {
    for (Sequence* sequence = running_.front(); sequence; sequence = sequence->next) sequence->drafts = 0;
  }
  for (const Row& row : step.rows) {
    if (!row.samples) continue;
    row.sequence->placeholders += 1 + row.drafts;
    row.sequence->drafts = row.proposes;
  }
}

void VllmV1Scheduler::describe(const Step& step, BatchShape& batch) const {
  for (const Row& row : step.rows) {
    if (row.in_lockstep) continue;
    const Sequence& sequence = *row.sequence;
    if (row.samples) {
      ++batch.sampled_sequences;
      batch.verified_drafts += row.drafts;
    }
    if (row.proposes > 0) {
      ++batch.proposing_sequences;
      batch.proposals = row.proposes;
      batch.proposing_context += Tokens{sequence.computed + row.scheduled};
    }
    if (!row.decode) {
      const std::int64_t history = config_.kv_eviction.kept(sequence.computed, true);
      batch.chunks.push_back({.new_tokens = Tokens{row.scheduled}, .history = Tokens{history}, .request = sequence.row});
      continue;
    }
    const std::int64_t context = config_.kv_eviction.kept(sequence.computed + row.scheduled, false);
    ++batch.decode_sequences;
    batch.decode_queries += Tokens{row.scheduled};
    batch.decode_context += Tokens{context};
    if (config_.attention_window > 0)
      batch.decode_context_in_window += Tokens{std::min(context, config_.attention_window)};
  }
}

}  // namespace ridgeline
