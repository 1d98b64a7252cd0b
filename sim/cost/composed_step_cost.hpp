// The default step cost: a model's operators priced on a device, plus the engine's host time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/context_knots.hpp"
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
/// remembered. A step in which every sequence merely decodes is interpolated over its mean context (ContextKnots); the prices of
/// others are remembered as long as the same batch comes again.
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
  static void add(Part& sum, const Part& part);
  /// The whole step but for launches outside a graph and host time.
  [[nodiscard]] Part parts_of(const BatchShape& batch);
  [[nodiscard]] StepPrice finish(const Part& sum, std::int64_t tokens, std::int64_t sequences) const;
  [[nodiscard]] StepPrice price_of(const BatchShape& batch);
  /// Parts of a decode step between two knots: at the lower one, and their growth with each token of context.
  struct DecodeInterval {
    bool known = false;
    std::int64_t context = 0;  // of all sequences, at the lower knot
    Part lower;
    std::array<double, cause_count> picoseconds_per_token{};
    double flops_per_token = 0;
    double bytes_per_token = 0;
  };
  [[nodiscard]] StepPrice decode_price(const BatchShape& batch);
  const DecodeInterval& decode_interval(std::int64_t sequences, std::int64_t mean_context);
  /// `sequences` that decode, each at this context.
  [[nodiscard]] Part decode_parts(std::int64_t sequences, std::int64_t context);
  const Part& token_part(std::int64_t tokens);
  const Part& sampling_part(std::int64_t rows);
  static Part& slot(std::vector<Part>& parts, std::int64_t index);

  std::shared_ptr<const WorkModel> model_;
  std::shared_ptr<const DeviceModel> device_;
  StepCostOptions options_;
  std::vector<Part> token_parts_;     // by unpadded rows
  std::vector<Part> sampling_parts_;  // by rows with logits
  std::vector<std::vector<DecodeInterval>> decode_intervals_;  // by sequences, then by lower knot
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
