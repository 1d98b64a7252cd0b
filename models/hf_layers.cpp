#include "models/hf_layers.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ridgeline {
namespace {

using namespace hf_trait;

constexpr Range window_range{1.0, 1e9};
constexpr Range step_range{1.0, 1e4};

bool is_recurrent(const std::string& type) {
  return type == "linear_attention" || type == "mamba" || type == "recurrent" || type == "conv";
}

/// A window that layers need but the file does not give is a mistake.
std::int64_t require_window(const JsonObject& config, const char* key, Diagnostics& errors) {
  if (!config.has(key)) {
    errors.add(config.mistake(key, "missing: some layers attend to a window of this many tokens"));
    return 0;
  }
  return config.integer(key, errors, window_range).value_or(0);
}

void read_layer_types(const JsonObject& config, ModelSpec& model, Diagnostics& errors) {
  const auto types = config.texts("layer_types", errors);
  if (!types) return;
  if (types->size() != model.layers.size()) {
    errors.add(config.mistake(
        "layer_types", fmt::format("lists {} layers, but the model has {}", types->size(), model.layers.size())));
    return;
  }
  const auto uses = [&types](const char* type) {
    return std::find(types->begin(), types->end(), type) != types->end();
  };
  const std::int64_t window = uses("sliding_attention") ? require_window(config, "sliding_window", errors) : 0;
  const std::int64_t chunk = uses("chunked_attention") ? require_window(config, "attention_chunk_size", errors) : 0;
  for (std::size_t i = 0; i < types->size(); ++i) {
    const std::string& type = (*types)[i];
    LayerSpec& layer = model.layers[i];
    if (type == "full_attention" || type == "attention") {
      layer.attention = AttentionKind::full;
    } else if (type == "sliding_attention") {
      layer.attention = AttentionKind::sliding;
      layer.window = window;
    } else if (type == "chunked_attention") {
      layer.attention = AttentionKind::chunked;
      layer.window = chunk;
    } else if (is_recurrent(type)) {
      layer.attention = AttentionKind::recurrent;
    } else {
      errors.add(config.mistake("layer_types", "unknown layer type `" + type + "`" +
                                                   suggestion(type, {"full_attention", "sliding_attention",
                                                                     "chunked_attention", "linear_attention"})));
      return;
    }
  }
}

template <class Slides>
void slide_layers(const JsonObject& config, ModelSpec& model, Diagnostics& errors, Slides slides) {
  const std::int64_t window = config.integer("sliding_window", errors, window_range).value_or(0);
  if (window == 0) return;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!slides(static_cast<std::int64_t>(i))) continue;
    model.layers[i].attention = AttentionKind::sliding;
    model.layers[i].window = window;
  }
}

/// Llama 4: every fourth layer has no rope and sees everything; the others see their chunk. `no_rope_layers` holds 1
/// for layers that do use rope; empty means the default interval.
void chunk_layers(const JsonObject& config, ModelSpec& model, Diagnostics& errors) {
  const std::int64_t chunk = config.integer("attention_chunk_size", errors, window_range).value_or(0);
  if (chunk == 0) return;
  const std::int64_t interval = config.integer("no_rope_layer_interval", errors, step_range).value_or(4);
  const std::vector<std::int64_t> uses_rope =
      config.integers("no_rope_layers", errors).value_or(std::vector<std::int64_t>{});
  if (!uses_rope.empty() && uses_rope.size() != model.layers.size()) {
    errors.add(config.mistake(
        "no_rope_layers", fmt::format("lists {} layers, but the model has {}", uses_rope.size(), model.layers.size())));
    return;
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const bool full = uses_rope.empty() ? (static_cast<std::int64_t>(i) + 1) % interval == 0 : uses_rope[i] == 0;
    if (full) continue;
    model.layers[i].attention = AttentionKind::chunked;
    model.layers[i].window = chunk;
  }
}

void mix_recurrent(const JsonObject& config, ModelSpec& model, Diagnostics& errors) {
  if (!config.has("full_attention_interval")) {
    errors.add(
        config.mistake("full_attention_interval", "missing (or `layer_types`): it says which layers are recurrent"));
    return;
  }
  const std::int64_t interval = config.integer("full_attention_interval", errors, step_range).value_or(1);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if ((static_cast<std::int64_t>(i) + 1) % interval != 0) model.layers[i].attention = AttentionKind::recurrent;
  }
}

void read_windows(const JsonObject& config, const HfFamily& family, ModelSpec& model, Diagnostics& errors) {
  if (config.has("use_sliding_window") && !config.boolean("use_sliding_window", errors).value_or(true)) return;
  if (family.has(windows_all)) {
    slide_layers(config, model, errors, [](std::int64_t) { return true; });
  } else if (family.has(windows_alternate)) {
    slide_layers(config, model, errors, [](std::int64_t i) { return i % 2 == 0; });
  } else if (family.has(windows_pattern)) {
    const std::string key = config.first_of({"sliding_window_pattern", "_sliding_window_pattern"});
    const std::int64_t pattern =
        key.empty() ? (family.model_type == "cohere2" ? 4 : 6) : config.integer(key, errors, step_range).value_or(1);
    slide_layers(config, model, errors, [pattern](std::int64_t i) { return (i + 1) % pattern != 0; });
  } else if (family.has(windows_on_request) && config.has("use_sliding_window")) {
    const std::int64_t first = config.integer("max_window_layers", errors, non_negative).value_or(0);
    slide_layers(config, model, errors, [first](std::int64_t i) { return i >= first; });
  }
}

}  // namespace

void read_attention_kinds(const JsonObject& config, const HfFamily& family, ModelSpec& model, Diagnostics& errors) {
  if (config.has("layer_types")) {
    read_layer_types(config, model, errors);
  } else if (family.has(recurrent_mix)) {
    mix_recurrent(config, model, errors);
  } else if (family.has(chunks)) {
    chunk_layers(config, model, errors);
  } else {
    read_windows(config, family, model, errors);
  }
}

void read_expert_layers(const JsonObject& config, ModelSpec& model, Diagnostics& errors) {
  const std::int64_t first = config.integer("first_k_dense_replace", errors, non_negative).value_or(0);
  const std::string step_key = config.first_of({"decoder_sparse_step", "interleave_moe_layer_step"});
  const std::int64_t step = step_key.empty() ? 1 : config.integer(step_key, errors, step_range).value_or(1);
  const auto list = [&](const char* key) {
    return config.is_array(key) ? config.integers(key, errors).value_or(std::vector<std::int64_t>{})
                                : std::vector<std::int64_t>{};
  };
  const std::vector<std::int64_t> dense = list("mlp_only_layers");
  const std::vector<std::int64_t> moe_layers = list("moe_layers");
  const std::vector<std::int64_t> flags = list("moe_layer_freq");
  const std::int64_t frequency = flags.empty() && !config.is_array("moe_layer_freq")
                                     ? config.integer("moe_layer_freq", errors, step_range).value_or(1)
                                     : 1;
  const auto holds = [](const std::vector<std::int64_t>& items, std::int64_t i) {
    return std::find(items.begin(), items.end(), i) != items.end();
  };
  for (std::size_t index = 0; index < model.layers.size(); ++index) {
    const std::int64_t i = static_cast<std::int64_t>(index);
    bool experts = i >= first && i % frequency == 0 && (i + 1) % step == 0 && !holds(dense, i);
    if (!flags.empty()) experts = index < flags.size() && flags[index] != 0;
    if (!moe_layers.empty()) experts = holds(moe_layers, i);
    model.layers[index].experts = experts;
  }
}

}  // namespace ridgeline
