#include "sim/scheduling/vllm_v1.hpp"

#include <fmt/format.h>

#include <utility>

namespace ridgeline {

VllmV1Scheduler::VllmV1Scheduler(const EngineConfig& config, const std::string& path)
    : config_(config),
      speculation_(config, path),
      kv_(make_kv_cache(config, config.async_scheduling ? 2 : 1)),
      watermark_blocks_(static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_gpu_blocks))),
      waiting_(config.scheduling_policy == "priority"),
      runs_(dynamic_cast<RunKvCache*>(kv_.get())),
      paces_(runs_ && !config.exact_steps && !speculation_.on() && config.long_prefill_token_threshold == 0 &&
             config.host_kv.offload_blocks == 0),
      lockstep_(config.block_size, config.async_scheduling ? 0 : 1, config.attention_window) {
  if (config.scheduling_policy != "fcfs" && config.scheduling_policy != "priority") {
    throw ConfigError("scheduling_policy `" + config.scheduling_policy + "`" +
                      suggestion(config.scheduling_policy, {"fcfs", "priority"}));
  }
  if (config.host_kv.offload_blocks > 0) tier_.emplace(config.host_kv);
  if (config.kv_eviction.on() && (config.enable_prefix_caching || speculation_.on() || !config.kv_groups.empty())) {
    throw ConfigError("kv_eviction works with full attention only, without prefix caching and speculation");
  }
  if (config.host_kv.offload_blocks > 0 && (!config.enable_prefix_caching || config.kv_groups.size() > 1)) {
    throw ConfigError("the KV offload tier needs enable_prefix_caching and a single KV group");
  }
  if (config.max_num_batched_tokens <= speculation_.draft_slots()) {
    throw ConfigError(fmt::format("max_num_batched_tokens {} leaves no room beside {} draft slot(s) a request",
                                  config.max_num_batched_tokens, speculation_.draft_slots()));
  }
}

VllmV1Scheduler::Sequence& VllmV1Scheduler::new_sequence() {
  if (spare_.empty()) return arena_.emplace_back();
  Sequence& sequence = *spare_.back();
  spare_.pop_back();
  // The KV part keeps its storage; `start` resets it.
  KvSequence kv = std::move(sequence.kv);
  sequence = Sequence{};
  sequence.kv = std::move(kv);
  return sequence;
}

void VllmV1Scheduler::check_admissible(const Sequence& sequence) const {
  const std::int64_t tokens = sequence.prompt + sequence.target;
  if (tokens > config_.max_model_len) {
    throw ConfigError(fmt::format("request {}: {} prompt + {} output tokens exceed max_model_len {}", sequence.row,
                                  sequence.prompt, sequence.target, config_.max_model_len));
  }
  // After a preemption at its last token everything but that token is recomputed at once.
  const std::int64_t slots = std::min(tokens - 1 + speculation_.lookahead(), config_.max_model_len);
  const std::int64_t blocks = kv_->most_blocks(slots);
  if (blocks > kv_->usable_blocks()) {
    throw ConfigError(
        fmt::format("request {}: {} prompt + {} output tokens need {} KV blocks of {} tokens, the pool has {}",
                    sequence.row, sequence.prompt, sequence.target, blocks, config_.block_size, kv_->usable_blocks()));
  }
  if (!config_.enable_chunked_prefill && sequence.prompt > config_.max_num_batched_tokens) {
    throw ConfigError(
        fmt::format("request {}: a prompt of {} tokens exceeds max_num_batched_tokens {} with chunked prefill off",
                    sequence.row, sequence.prompt, config_.max_num_batched_tokens));
  }
}

void VllmV1Scheduler::add(Request& request, Time now) {
  Sequence& sequence = new_sequence();
  const RequestSpec& spec = request.spec;
  sequence.request = &request;
  sequence.row = spec.row;
  sequence.prompt = spec.input.count();
  sequence.target = spec.output.count();
  sequence.max_tokens = std::max(spec.max_tokens, spec.output).count();
  sequence.priority = spec.priority;
  sequence.arrival = now;
  try {
    check_admissible(sequence);
  } catch (...) {
    spare_.push_back(&sequence);
    throw;
  }
  kv_->start(sequence.kv, spec);
  waiting_.push_back(&sequence);
  ++unseen_;
}

bool VllmV1Scheduler::plan(Time now, StepPlan& plan, SchedulerListener& listener) {
  unseen_ = 0;
  now_ = now;
  while (!loads_.empty() && loads_.front() <= now) loads_.pop_front();
  Step& step = in_flight_.spare();
  step.clear();
  if (!in_lockstep_ && may_form()) form_lockstep();
  if (in_lockstep_ && !lockstep_fits()) dissolve_lockstep();
  if (in_lockstep_) {
    if (!plan_lockstep(step, plan.batch, listener)) return false;
  } else {
    if (!plan_walk(step, listener)) return false;
    describe(step, plan.batch);
    advance(step);
  }
  plan.evicted = Tokens{kv_->take_evicted_tokens()};
  step.preempted.swap(preempted_);
  in_flight_.push();
  return true;
}

SchedulerLoad VllmV1Scheduler::load() const {
  return {.running = running_.size(),
          .waiting = waiting_.size() + static_cast<std::int64_t>(parked_.size()) - unseen_,
          .total_blocks = kv_->usable_blocks(),
          .free_blocks = kv_->free_blocks(),
          .host_blocks = tier_ ? tier_->blocks() : 0};
}

std::unique_ptr<Scheduler> make_vllm_v1(const EngineConfig& config, const std::string& path) {
  return std::make_unique<VllmV1Scheduler>(config, path);
}

}  // namespace ridgeline
