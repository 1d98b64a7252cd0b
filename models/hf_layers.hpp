// Which layers of a Hugging Face model attend how far, and which hold experts.
#pragma once

#include <cstdint>

#include "models/hf_families.hpp"
#include "models/json_document.hpp"
#include "models/model_spec.hpp"

namespace ridgeline {

/// Attention kind and window per layer: `layer_types` where given, else the family's rule with its flags
/// (`sliding_window`, `use_sliding_window`, `max_window_layers`, `sliding_window_pattern`, `attention_chunk_size`,
/// `no_rope_layers`, `full_attention_interval`). `model.layers` already has its length.
void read_attention_kinds(const JsonObject& config, const HfFamily& family, ModelSpec& model, Diagnostics& errors);

/// Experts per layer: `first_k_dense_replace`, `moe_layer_freq`, `decoder_sparse_step`, `mlp_only_layers`,
/// `interleave_moe_layer_step`, `moe_layers`. Call only for models with experts.
void read_expert_layers(const JsonObject& config, ModelSpec& model, Diagnostics& errors);

}  // namespace ridgeline
