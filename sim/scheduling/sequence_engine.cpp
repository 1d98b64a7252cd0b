#include "sim/scheduling/sequence_engine.hpp"

#include <algorithm>

namespace ridgeline {

SequenceEngine::SequenceEngine(const EngineConfig& config)
    : config_(config),
      decodes_(config.block_size, config.attention_window),
      total_blocks_(config.num_gpu_blocks),
      free_blocks_(config.num_gpu_blocks) {
  const std::string engine = "engine `" + config.scheduler + "`: ";
  std::vector<Diagnostic> refused;
  const auto refuse_flag = [&](bool asked, const std::string& key, const std::string& what) {
    if (asked) refused.push_back({{}, key, engine + what});
  };
  refuse_flag(config.speculation.has_value(), "speculative_config", "speculative decoding is modelled for vllm_v1 only");
  refuse_flag(config.kv_groups.size() > 1 || (!config.kv_groups.empty() && config.kv_groups.front() != 0), "kv_groups",
              "hybrid and sliding-window KV groups are modelled for vllm_v1 only");
  refuse_flag(config.scheduling_policy != "fcfs", "scheduling_policy",
              "policy `" + config.scheduling_policy + "` is modelled for vllm_v1 only; expected fcfs");
  if (!refused.empty()) throw ConfigError(std::move(refused));
}

void SequenceEngine::add(Request& request, Time now) {
  enqueue(request, now);
  ++unseen_;
}

bool SequenceEngine::plan(Time now, StepPlan& plan, SchedulerListener& listener) {
  unseen_ = 0;
  form_step(now, plan, listener);
  return !plan.batch.empty();
}

void SequenceEngine::look_ahead(std::int64_t most, DecodesAhead& ahead) const {
  ahead.free_blocks.clear();
  const bool only_decodes = decodes_scheduled_ && prefills_.empty() && !keep_rows_;
  if (!only_decodes || !decodes_.all_delivered_at(last_complete_) || !is_steady()) return;
  ahead.load = load();
  ahead.load.waiting = waiting();  // the next plan sees all
  ahead.growth_in_window = Tokens{decodes_.growing()};
  ahead.block_size = config_.block_size;
  decodes_.look_ahead(most, ahead.load.free_blocks, steady_reserve(), ahead.free_blocks);
}

void SequenceEngine::pass(std::int64_t steps, Time now) {
  for (std::int64_t step = 0; step < steps; ++step) {
    decodes_.pass(1, now);
    take_steady_step();
  }
  unseen_ = 0;
  last_complete_ = now;
}

void SequenceEngine::check_length(const RequestSpec& spec) const {
  const std::int64_t length = spec.input.count() + spec.output.count();
  if (config_.max_model_len > 0 && length > config_.max_model_len) {
    refuse(spec, "prompt and output have " + std::to_string(length) + " tokens, more than max_model_len " +
                     std::to_string(config_.max_model_len));
  }
}

void SequenceEngine::refuse(const RequestSpec& spec, const std::string& why) {
  throw ConfigError("request " + std::to_string(spec.row) + " can never be served: " + why);
}

void SequenceEngine::refuse_reservation(const RequestSpec& spec, std::int64_t blocks, bool longest) const {
  if (longest) refuse(spec, "the KV pool is smaller than one max_model_len");
  refuse(spec, "it reserves " + std::to_string(blocks) + " KV blocks, of " + std::to_string(total_blocks_));
}

SchedulerLoad SequenceEngine::load() const {
  return {.running = running_, .waiting = waiting() - unseen_, .total_blocks = total_blocks_, .free_blocks = free_blocks_};
}

void SequenceEngine::admit(Sequence& sequence, Tokens cached, SchedulerListener& listener) {
  ++running_;
  sequence.computed = cached.count();
  listener.admitted(*sequence.request, cached);
}

void SequenceEngine::schedule_prefill(Sequence& sequence, std::int64_t tokens, StepPlan& plan) {
  plan.batch.chunks.push_back({.new_tokens = Tokens{tokens}, .history = Tokens{sequence.computed}, .request = sequence.row});
  sequence.computed += tokens;
  const bool samples = sequence.computed == sequence.known();
  if (samples) ++plan.batch.sampled_sequences;
  prefills_.push_back({&sequence, tokens, samples});
}

void SequenceEngine::schedule_decodes(StepPlan& plan) {
  decodes_.fill(plan.batch);
  decodes_scheduled_ = true;
}

void SequenceEngine::preempt(Sequence& sequence, SchedulerListener& listener) {
  suspend(sequence, listener);
  sequence.computed = 0;
}

void SequenceEngine::suspend(Sequence& sequence, SchedulerListener& listener) {
  if (sequence.decoding) decodes_.leave(sequence);
  --running_;
  if (keep_rows_) {
    preempted_.push_back({.request = sequence.row,
                          .kind = StepRow::Kind::preempted,
                          .scheduled = Tokens{0},
                          .computed = Tokens{0},
                          .output = Tokens{sequence.outputs}});
  }
  listener.preempted(*sequence.request);
}

void SequenceEngine::resume(Sequence& sequence, SchedulerListener& listener) {
  admit(sequence, Tokens{sequence.computed}, listener);
  decodes_.join(sequence);
}

std::int64_t SequenceEngine::tokens_held() const {
  std::int64_t tokens = decodes_scheduled_ ? decodes_.context() : decodes_.context() - decodes_.size();
  for (const Prefill& prefill : prefills_) tokens += prefill.sequence->computed;
  return tokens;
}

bool SequenceEngine::scheduled(const Sequence& sequence) const {
  return std::any_of(prefills_.begin(), prefills_.end(), [&](const Prefill& prefill) { return prefill.sequence == &sequence; });
}

KvWaste SequenceEngine::reserved_waste(std::int64_t promised, bool memory_is_short) const {
  const std::int64_t held = (total_blocks_ - free_blocks_) * config_.block_size;
  return {.reserved = Tokens{promised - tokens_held()},
          .internal = Tokens{held - promised},
          .external = Tokens{memory_is_short ? free_blocks_ * config_.block_size : 0}};
}

void SequenceEngine::complete(Time now, SchedulerListener& listener) {
  if (decodes_scheduled_) decodes_.advance(now, listener);
  for (const Prefill& prefill : prefills_) {
    if (prefill.samples) sample_first(*prefill.sequence, now, listener);
  }
  if (keep_rows_) write_rows();

  ended_.clear();
  for (const Prefill& prefill : prefills_) {
    Sequence& sequence = *prefill.sequence;
    if (!prefill.samples) continue;
    if (sequence.ended()) {
      finish(sequence, listener);
    } else {
      prompt_done(sequence);
      decodes_.join(sequence);
    }
  }
  if (decodes_scheduled_) {
    decodes_.take_ended(ended_);
    for (Sequence* sequence : ended_) finish(*sequence, listener);
  }
  prefills_.clear();
  decodes_scheduled_ = false;
  last_complete_ = now;
}

void SequenceEngine::sample_first(Sequence& sequence, Time now, SchedulerListener& listener) {
  if (sequence.outputs == 0) {
    listener.first_token(*sequence.request);
  } else {
    listener.chunks(1, 1, sequence.last_chunk);  // resumed after a preemption
  }
  ++sequence.outputs;
  sequence.last_chunk = now;
}

void SequenceEngine::write_rows() {
  rows_.clear();
  if (decodes_scheduled_ && decodes_lead_) write_decode_rows();
  for (const Prefill& prefill : prefills_) {
    const Sequence& sequence = *prefill.sequence;
    rows_.push_back({.request = sequence.row,
                     .kind = StepRow::Kind::prefill,
                     .scheduled = Tokens{prefill.tokens},
                     .computed = Tokens{sequence.computed},
                     .output = Tokens{sequence.outputs}});
  }
  if (decodes_scheduled_ && !decodes_lead_) write_decode_rows();
  rows_.insert(rows_.end(), preempted_.begin(), preempted_.end());
  preempted_.clear();
}

void SequenceEngine::write_decode_rows() {
  for (const Sequence* member : decodes_.in_order()) {
    rows_.push_back({.request = member->row,
                     .kind = StepRow::Kind::decode,
                     .scheduled = Tokens{1},
                     .computed = Tokens{decodes_.computed(*member)},
                     .output = Tokens{decodes_.outputs(*member)}});
  }
}

void SequenceEngine::finish(Sequence& sequence, SchedulerListener& listener) {
  --running_;
  Request& request = *sequence.request;
  release(sequence);
  listener.finished(request);
}

}  // namespace ridgeline
