// What an operator family's price model answers, before it is split by cause.
#pragma once

#include "sim/base/units.hpp"

namespace ridgeline {

/// The price of one operator by one family's model.
///
/// `compute` and `memory` are the times each resource alone would need; `total` is what the operator takes. Families combine
/// them by a smooth maximum, so `total` lies between fixed + max(compute, memory) and fixed + compute + memory.
/// Collectives put latency into `fixed` and transfer into `memory`.
struct FamilyPrice {
  Duration fixed;    ///< launch, prologue, latency: what an empty operator would take
  Duration compute;  ///< tensor-core or ALU time alone, quantisation by tiles and waves included
  Duration memory;   ///< HBM or L2 (for collectives: link) time alone
  Duration total;
};

}  // namespace ridgeline
