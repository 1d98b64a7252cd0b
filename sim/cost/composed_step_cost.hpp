// The default step cost: a model's operators priced on a device, plus the engine's host time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/price_memo.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

/// Time the engine's CPU code spends per step: `per_step + per_sequence * sequences`.
struct HostOverhead {
  Duration per_step;
  Duration per_sequence;
  bool overlapped = false;  ///< true: hidden behind the GPU (step = max), false: in series (step = sum)
};

/// Everything a step price needs beside model and device.
struct StepCostOptions {
  HostOverhead host;
  /// CUDA-graph capture sizes, ascending: up to the largest, rows are padded to the next size (engine-semantics of vLLM V1:
  /// cudagraph_capture_sizes). Above it, or when empty, kernels are launched one by one and nothing is padded.
  std::vector<std::int64_t> graph_sizes;
  /// CPU time to launch one kernel outside a graph: bounds an ungraphed step from below.
  Duration eager_launch;
};

/// Prices a step as the sum of its operators. Rows-only and samples-only operators are priced once per distinct count and
/// remembered, so a steady decode step costs two look-ups and one attention price per layer kind, or one look-up if the same
/// batch has come before.
class ComposedStepCost final : public StepCost {
 public:
  ComposedStepCost(std::shared_ptr<const WorkModel> model, std::shared_ptr<const DeviceModel> device, StepCostOptions options);

  StepPrice of(const BatchShape& batch) override;

  /// Rows actually computed for `tokens` rows of work: padded to the CUDA-graph size, if one covers them.
  [[nodiscard]] std::int64_t padded(std::int64_t tokens) const;

 private:
  struct Part {
    bool known = false;
    TimeByCause by_cause;
    Flops flops;
    Bytes bytes;
    std::int64_t launches = 0;
  };
  static void add(Part& part, const Op& op, const OpPrice& price);
  [[nodiscard]] StepPrice price_of(const BatchShape& batch);
  const Part& token_part(std::int64_t tokens);
  const Part& sampling_part(std::int64_t rows);
  static Part& slot(std::vector<Part>& parts, std::int64_t index);

  std::shared_ptr<const WorkModel> model_;
  std::shared_ptr<const DeviceModel> device_;
  StepCostOptions options_;
  std::vector<Part> token_parts_;     // by unpadded rows
  std::vector<Part> sampling_parts_;  // by rows with logits
  PriceMemo memo_;
  std::vector<Op> attention_;         // scratch, keeps its capacity
};

/// Every step takes the same given time, whatever it computes: for scheduler tests and queueing theory.
class ConstantStepCost final : public StepCost {
 public:
  explicit ConstantStepCost(Duration step_time) {
    price_.total = price_.gpu = step_time;
    price_.by_cause[Cause::overhead] = step_time;
  }
  StepPrice of(const BatchShape&) override { return price_; }

 private:
  StepPrice price_;
};

}  // namespace ridgeline
