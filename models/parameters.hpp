// Parameter counts and bytes of weights, by component.
#pragma once

#include <cstdint>

#include "models/shard.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// Parameters of the whole model. Vision towers and draft (MTP) layers are not included.
struct ParameterCount {
  std::int64_t embedding = 0;  ///< token table; counts once when the head is tied to it
  std::int64_t positions = 0;  ///< learned positions and segments
  std::int64_t attention = 0;  ///< projections, biases, qk norms, sinks; recurrent mixers too
  std::int64_t mlp = 0;        ///< dense MLPs
  std::int64_t experts = 0;    ///< routed
  std::int64_t shared_experts = 0;
  std::int64_t router = 0;
  std::int64_t norms = 0;
  std::int64_t lm_head = 0;  ///< 0 when tied

  [[nodiscard]] std::int64_t total() const {
    return embedding + positions + attention + mlp + experts + shared_experts + router + norms + lm_head;
  }
  [[nodiscard]] std::int64_t without_embedding() const { return total() - embedding - lm_head; }
};

ParameterCount count_parameters(const ModelSpec& model);
/// Those that one token touches: `top_k` of the routed experts, everything else in full.
ParameterCount active_parameters(const ModelSpec& model);

/// Bytes of weights on one GPU, scales included.
struct WeightBytes {
  Bytes embedding;
  Bytes positions;
  Bytes attention;
  Bytes mlp;
  Bytes experts;
  Bytes shared_experts;
  Bytes router;
  Bytes norms;
  Bytes lm_head;

  [[nodiscard]] Bytes total() const {
    return embedding + positions + attention + mlp + experts + shared_experts + router + norms + lm_head;
  }
};

/// Of one rank: column- and row-parallel matrices are cut, KV heads replicated beyond their number, norms and routers
/// whole, the vocabulary padded to 64 rows and cut (vLLM `VocabParallelEmbedding`).
WeightBytes weight_bytes(const ModelSpec& model, const Shard& shard = {});

/// FLOPs of the linear layers for one token (2 per active weight, head included, embedding look-up excluded).
Flops linear_flops_per_token(const ModelSpec& model);

}  // namespace ridgeline
