// Lowers engine steps to operators for one tensor-parallel rank of a transformer.
#pragma once

#include <memory>

#include "models/precision.hpp"
#include "models/shard.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

struct TransformerOptions {
  Shard shard;
  KvFormat kv;
  double expert_skew = 0.0;  ///< exponent of a power law of expert popularity; 0 = balanced
};

/// Throws ConfigError: the tensor-parallel degree does not divide the heads, or the model has layers that can't be
/// priced.
std::unique_ptr<WorkModel> make_transformer(const ModelSpec& model, const TransformerOptions& options);

}  // namespace ridgeline
