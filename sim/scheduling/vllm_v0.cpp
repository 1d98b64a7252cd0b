#include "sim/scheduling/vllm_v0.hpp"

#include "sim/scheduling/recompute_engine.hpp"
#include "sim/scheduling/swap_space.hpp"

namespace ridgeline {

namespace {

class VllmV0 final : public RecomputeEngine {
 public:
  explicit VllmV0(const EngineConfig& config)
      : RecomputeEngine(config), swaps_(config.preemption_mode == "swap"), swap_space_(config.host_kv) {
    if (!swaps_ && config.preemption_mode != "recompute") {
      throw ConfigError("preemption_mode `" + config.preemption_mode + "`" +
                        suggestion(config.preemption_mode, {"recompute", "swap"}));
    }
  }

  void enqueue(Request& request, Time now) override {
    if (request.spec.input.count() > config_.max_num_batched_tokens) {
      refuse(request.spec, "its prompt exceeds max_num_batched_tokens, and this engine does not chunk");
    }
    // Swapped out near its end, it would need a block more to come back; the engine would drop it then.
    if (swaps_ && blocks_of(final_tokens(request.spec)) + 1 + kept_free_ > total_blocks_) {
      refuse(request.spec, "with preemption_mode swap it needs one KV block beyond its " +
                               std::to_string(blocks_of(final_tokens(request.spec))) + ", of " + std::to_string(total_blocks_));
    }
    RecomputeEngine::enqueue(request, now);
  }

  void form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) override {
    // Swapped requests come back before new ones start.
    if (swap_space_.empty()) schedule_prompts(plan, listener);
    if (plan.batch.empty()) {
      const bool preempted = make_room(plan, listener);
      if (!preempted) swap_in(plan, listener);
      // The last running request may have preempted itself: then the queue can move.
      if (decodes_.empty()) {
        schedule_prompts(plan, listener);
      } else {
        schedule_decodes(plan);
      }
    }
    plan.waste = paged_waste();
  }

  [[nodiscard]] SchedulerLoad load() const override {
    SchedulerLoad load = RecomputeEngine::load();
    load.host_blocks = swap_space_.used_blocks();
    return load;
  }

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return RecomputeEngine::waiting() + swap_space_.sequences(); }

  [[nodiscard]] bool is_steady() const override { return RecomputeEngine::is_steady() && !can_swap_in(); }

  void give_way(Sequence& victim, StepPlan& plan, SchedulerListener& listener) override {
    if (!swaps_) return RecomputeEngine::give_way(victim, plan, listener);
    const std::int64_t blocks = held_by(victim);
    swap_space_.put(victim, blocks, plan.swapped.out);
    free_blocks_ += blocks;
    suspend(victim, listener);
  }

 private:
  void schedule_prompts(StepPlan& plan, SchedulerListener& listener) {
    std::int64_t budget = config_.max_num_batched_tokens;
    while (Sequence* sequence = admissible()) {
      if (sequence->known() > config_.max_num_batched_tokens) {
        throw ConfigError("request " + std::to_string(sequence->row) + " was preempted with " +
                          std::to_string(sequence->known()) +
                          " tokens; vLLM V0 would drop it, since they exceed max_num_batched_tokens and prompts are not chunked");
      }
      if (sequence->known() > budget) break;
      budget -= sequence->known();
      admit_first(listener);
      schedule_prefill(*sequence, sequence->known(), plan);
    }
  }

  // The blocks of the first, one more for the token to come, and the watermark must be free.
  [[nodiscard]] bool can_swap_in() const {
    if (swap_space_.empty() || running_ >= config_.max_num_seqs || decodes_.size() >= config_.max_num_batched_tokens) return false;
    return free_blocks_ - (blocks_of(swap_space_.first().computed) + 1) >= kept_free_;
  }

  void swap_in(StepPlan& plan, SchedulerListener& listener) {
    while (can_swap_in()) {
      Sequence& sequence = swap_space_.first();
      const std::int64_t blocks = blocks_of(sequence.computed);
      swap_space_.take_first(blocks, plan.swapped.in);
      free_blocks_ -= blocks;
      resume(sequence, listener);
      if (decodes_.block_due(sequence)) --free_blocks_;
    }
  }

  bool swaps_;
  SwapSpace swap_space_;
};

}  // namespace

std::unique_ptr<Scheduler> make_vllm_v0(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<VllmV0>(config);
}

}  // namespace ridgeline
