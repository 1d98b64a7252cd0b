#include "sim/scheduling/vllm_v0.hpp"

#include "sim/scheduling/recompute_engine.hpp"

namespace ridgeline {

namespace {

class VllmV0 final : public RecomputeEngine {
 public:
  using RecomputeEngine::RecomputeEngine;

  void enqueue(Request& request, Time now) override {
    if (request.spec.input.count() > config_.max_num_batched_tokens) {
      refuse(request.spec, "its prompt exceeds max_num_batched_tokens, and this engine does not chunk");
    }
    RecomputeEngine::enqueue(request, now);
  }

  void form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) override {
    schedule_prompts(plan, listener);
    if (!plan.batch.empty()) return;
    make_room(listener);
    // The last running request may have preempted itself: then the queue can move.
    if (decodes_.empty()) {
      schedule_prompts(plan, listener);
    } else {
      schedule_decodes(plan);
    }
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
};

}  // namespace

std::unique_ptr<Scheduler> make_vllm_v0(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<VllmV0>(config);
}

}  // namespace ridgeline
