// The price of a step that verifies drafts and then proposes the next ones.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/cost/composed_step_cost.hpp"

namespace ridgeline {

/// How the drafter works. Its model is priced like any other, on the target's GPUs.
struct DrafterWork {
  /// Null: drafts come from the host alone (n-gram).
  std::shared_ptr<const WorkModel> model;
  bool sequential = true;             ///< one pass per draft, or (Medusa) all heads once
  std::int64_t window = 0;            ///< of the drafter's sliding layers, tokens; 0 = none
  std::int64_t extra_rows = 0;        ///< rows a sequence that the first pass takes beyond the step's own
  std::int64_t tree_depth = 0;        ///< passes whatever the number of drafts; 0 = a chain
  std::int64_t tree_topk = 1;         ///< rows a sequence of every later pass
  HostOverhead host;                  ///< CPU time to prepare a chain, or each level of a tree; `overlapped` as the step's
};

/// Verification is the target's step (its batch holds the drafts). Then the drafter's first pass reads every token of the
/// step, prompts included, so that its KV cache keeps up; each later pass reads the drafts just made.
class SpeculativeStepCost final : public StepCost {
 public:
  SpeculativeStepCost(std::unique_ptr<StepCost> target, std::shared_ptr<const DeviceModel> device, StepCostOptions options,
                      DrafterWork drafter);

  StepPrice of(const BatchShape& batch) override;

 private:
  /// GPU time of all passes.
  StepPrice drafting(const BatchShape& batch);

  std::unique_ptr<StepCost> target_;
  DrafterWork work_;
  std::unique_ptr<StepCost> drafter_;  // null without a model
  bool overlapped_;
  BatchShape pass_;  // scratch, keeps its capacity
};

}  // namespace ridgeline
