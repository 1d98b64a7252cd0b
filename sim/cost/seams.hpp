// The seams between models ("how much"), hardware ("how long") and the engine loop ("when").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/batch_shape.hpp"
#include "sim/cost/operator.hpp"
#include "sim/cost/price.hpp"

namespace ridgeline {

/// A step lowered to operators, in execution order.
struct StepWork {
  std::vector<Op> ops;
};

/// Lowers batch shapes to operators for one model on one rank of a fixed parallel layout. Immutable, thread-safe.
///
/// Split by what the operators depend on, so that a step is priced from tables:
/// `token_ops` on the number of rows only, `sampling_ops` on the number of rows with logits only, `attention_ops` on contexts.
class WorkModel {
 public:
  virtual ~WorkModel() = default;
  /// Embedding, norms, projections, rope, activation, MLP or experts, tensor-parallel all-reduces for `tokens` rows.
  [[nodiscard]] virtual std::vector<Op> token_ops(Tokens tokens) const = 0;
  /// Final norm, LM head, logits all-gather, sampler for `rows` rows with logits.
  [[nodiscard]] virtual std::vector<Op> sampling_ops(std::int64_t rows) const = 0;
  /// One Op per attention layer kind (full, sliding window), `repeats` = number of such layers. Replaces `ops`,
  /// whose capacity it reuses; the ops refer to `batch.chunks`.
  virtual void attention_ops(const BatchShape& batch, std::vector<Op>& ops) const = 0;
  /// The whole step in execution order (for `explain`). Its work is the sum of the three parts.
  [[nodiscard]] virtual StepWork lower(const BatchShape& batch) const = 0;
};

/// Prices operators on one GPU of a named type and interconnect. Immutable, thread-safe.
class DeviceModel {
 public:
  virtual ~DeviceModel() = default;
  /// One occurrence of `op` (repeats ignored).
  [[nodiscard]] virtual OpPrice price(const Op& op) const = 0;
};

/// Prices whole steps. May memoise, hence not const; one instance per replica or shared within one simulation thread.
class StepCost {
 public:
  virtual ~StepCost() = default;
  virtual StepPrice of(const BatchShape& batch) = 0;
};

}  // namespace ridgeline
