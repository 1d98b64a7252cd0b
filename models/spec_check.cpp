#include "models/spec_check.hpp"

#include <fmt/format.h>

namespace ridgeline {
namespace {

void check_layer(const ModelSpec& model, std::size_t index, const Complain& complain) {
  const LayerSpec& layer = model.layers[index];
  if (layer.attention == AttentionKind::recurrent) {
    if (!model.recurrent)
      complain("layer_types", fmt::format("layer {} is recurrent, but its mixer has no dimensions", index));
    return;
  }
  if (layer.head_dim < 1) complain("head_dim", fmt::format("layer {} has no head dimension", index));
  if (layer.kv_heads < 1) {
    complain("num_key_value_heads", fmt::format("layer {} has no KV heads", index));
  } else if (layer.kv_heads > model.heads) {
    complain("num_key_value_heads",
             fmt::format("num_key_value_heads {} exceeds num_attention_heads {}", layer.kv_heads, model.heads));
  } else if (model.heads % layer.kv_heads != 0) {
    complain("num_key_value_heads",
             fmt::format("num_key_value_heads {} does not divide num_attention_heads {}", layer.kv_heads, model.heads));
  }
  const bool windowed = layer.attention == AttentionKind::sliding || layer.attention == AttentionKind::chunked;
  if (windowed && layer.window < 1)
    complain("sliding_window", fmt::format("layer {} attends to a window of unknown length", index));
}

}  // namespace

void check_spec(const ModelSpec& model, const Complain& complain) {
  const LayerSpec* previous = nullptr;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    // One complaint for a run of equal layers.
    if (previous == nullptr || !(*previous == model.layers[i])) check_layer(model, i, complain);
    if (model.layers[i].experts && !model.moe)
      complain("num_experts", fmt::format("layer {} has experts without dimensions", i));
    if (!model.layers[i].experts && model.intermediate < 1)
      complain("intermediate_size", fmt::format("layer {} has an MLP without a width", i));
    previous = &model.layers[i];
  }
}

}  // namespace ridgeline
