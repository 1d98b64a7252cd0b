#include "sim/scheduling/sarathi.hpp"

#include <algorithm>

#include "sim/scheduling/recompute_engine.hpp"

namespace ridgeline {

namespace {

class Sarathi final : public RecomputeEngine {
 public:
  explicit Sarathi(const EngineConfig& config) : RecomputeEngine(config) { decodes_lead_ = true; }

  void form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) override {
    bool preempted = make_room(plan, listener);
    if (preempted && decodes_.empty() && partial_.empty()) preempted = false;  // nothing would run: the next attempt may admit
    if (!decodes_.empty()) schedule_decodes(plan);
    std::int64_t budget = config_.max_num_batched_tokens - decodes_.size();
    for (auto next = partial_.begin(); next != partial_.end() && budget > 0;) {
      Sequence& sequence = **next++;
      budget -= schedule_chunk(sequence, budget, plan);
    }
    // Victims stand first in the queue and are not admitted again in the same step.
    if (!preempted) {
      while (budget > 0) {
        Sequence* sequence = admissible();
        if (!sequence) break;
        admit_first(listener);
        partial_.insert(sequence);
        budget -= schedule_chunk(*sequence, budget, plan);
      }
    }
    plan.waste = paged_waste();
  }

 private:
  std::int64_t schedule_chunk(Sequence& sequence, std::int64_t budget, StepPlan& plan) {
    const std::int64_t left = sequence.known() - sequence.computed;
    const std::int64_t tokens = std::min(left, budget);
    if (tokens == left) partial_.erase(&sequence);
    schedule_prefill(sequence, tokens, plan);
    return tokens;
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_sarathi(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<Sarathi>(config);
}

}  // namespace ridgeline
