// What proposes tokens for speculative decoding: a model of its own, or heads on the target.
//
// vLLM `v1/spec_decode/{eagle,draft_model,medusa}.py`, `model_executor/models/{llama_eagle,llama_eagle3,deepseek_mtp,medusa}.py`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/kv_bytes.hpp"
#include "models/model_spec.hpp"
#include "models/shard.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

struct DrafterSpec {
  std::string method;           ///< draft_model, eagle, eagle3, mtp, medusa
  ModelSpec model;              ///< the layers it runs and caches KV for, the vocabulary it scores. Medusa: no layers
  std::int64_t projection = 0;  ///< inputs of a projection to the hidden size in front of the layers; 0 = none
  bool shares_head = false;     ///< the target's LM head and embedding serve it too: read, but stored once
  std::int64_t heads = 0;       ///< Medusa: residual blocks, each with an LM head of its own

  /// Runs once per draft, each pass on what the one before proposed; Medusa's heads all work on one hidden state.
  [[nodiscard]] bool sequential() const { return heads == 0; }
};

/// A whole small model. Throws ConfigError when its vocabulary is not the target's.
DrafterSpec draft_model_drafter(const ModelSpec& target, ModelSpec draft);

/// EAGLE (arXiv 2401.15077): one decoder layer of the target's dimensions behind a projection of embedding and hidden
/// state, the target's head. EAGLE-3 (arXiv 2503.01840): three hidden states are projected, the layer reads embedding and
/// hidden state side by side, and the head scores `draft_vocab` tokens.
DrafterSpec eagle_drafter(const ModelSpec& target);
DrafterSpec eagle3_drafter(const ModelSpec& target, std::int64_t draft_vocab);

/// The checkpoint's multi-token-prediction layer, run once per draft. Throws ConfigError when there is none.
DrafterSpec mtp_drafter(const ModelSpec& target);

/// Medusa (arXiv 2401.10774): `heads` times a hidden x hidden residual block and an LM head.
DrafterSpec medusa_drafter(const ModelSpec& target, std::int64_t heads);

/// Bytes of weights that the drafter adds to one GPU.
Bytes drafter_weight_bytes(const DrafterSpec& drafter, int tensor_parallel_size);

/// Lowers the drafter's passes for one rank. Throws ConfigError as `make_transformer`.
std::unique_ptr<WorkModel> make_drafter(const DrafterSpec& drafter, int tensor_parallel_size, const KvFormat& kv);

}  // namespace ridgeline
