// The operators of one rank and what feeds what, as a graph; its topological order is the order of execution.
//
// Identical layers are one block that occurs several times. A node is a template: it becomes an Op when a step says how
// many rows it works on. Boost.Graph is caged in operator_graph.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/precision.hpp"
#include "models/shard.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

/// What an operator's size follows.
enum class RowSource : std::uint8_t { tokens, sequences, context };

/// An operator before a step gives it rows.
struct OpTemplate {
  std::string_view name;
  RowSource rows = RowSource::tokens;
  OpShape shape;  ///< rows (m, rows, tokens, bytes, contexts) still zero
  std::int64_t repeats = 1;
  Bytes weight_bytes;          ///< read whatever the rows; for experts: of one expert
  std::int64_t row_bytes = 0;  ///< activations in and out, or bytes on the wire, per row
};

struct OperatorGraphOptions {
  Shard shard;
  KvFormat kv;
  double expert_skew = 0.0;
};

/// Templates in execution order: embedding, blocks of layers, head. Throws InternalError if they form a cycle.
std::vector<OpTemplate> operators_in_order(const ModelSpec& model, const OperatorGraphOptions& options);

}  // namespace ridgeline
