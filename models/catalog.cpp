#include "models/catalog.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "models/hf_config.hpp"
#include "models/precision.hpp"
#include "models/spec_check.hpp"
#include "sim/base/embedded.hpp"

namespace ridgeline {

std::span<const EmbeddedFile> model_catalog_files();

namespace {

/// Sets every layer's window from `window: {kind, tokens, pattern}`: one letter per layer, repeated: W windowed, F
/// full.
void read_window(MapReader& map, ModelSpec& model, Diagnostics& errors) {
  const std::optional<Config> node = map.child("window");
  if (!node) return;
  MapReader window(*node, errors);
  const std::string kind = window.choice("kind", "sliding", {"sliding", "chunked"});
  const std::int64_t tokens = window.require<std::int64_t>("tokens", at_least_one);
  const std::string pattern = window.require<std::string>("pattern");
  window.done();
  if (pattern.empty() || pattern.find_first_not_of("WF") != std::string::npos) {
    window.mistake("pattern", "expected letters W (windowed) and F (full)");
    return;
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (pattern[i % pattern.size()] == 'F') continue;
    model.layers[i].attention = kind == "sliding" ? AttentionKind::sliding : AttentionKind::chunked;
    model.layers[i].window = tokens;
  }
}

void read_experts(MapReader& map, ModelSpec& model, Diagnostics& errors) {
  const std::optional<Config> node = map.child("experts");
  if (!node) return;
  MapReader reader(*node, errors);
  MoeSpec moe;
  moe.experts = reader.require<std::int64_t>("count", at_least_one);
  moe.top_k = reader.require<std::int64_t>("top_k", at_least_one);
  moe.intermediate = reader.require<std::int64_t>("intermediate_size", at_least_one);
  moe.shared_experts = reader.get<std::int64_t>("shared", 0, non_negative);
  moe.shared_intermediate = reader.get<std::int64_t>("shared_intermediate_size", 0, non_negative);
  moe.router_bias = reader.get<bool>("router_bias", false);
  moe.expert_bias = reader.get<bool>("expert_bias", false);
  const std::int64_t first = reader.get<std::int64_t>("first_layer", 0, non_negative);
  const std::int64_t every = reader.get<std::int64_t>("every", 1, at_least_one);
  reader.done();
  for (std::int64_t i = first; i < model.layer_count(); ++i) {
    model.layers[static_cast<std::size_t>(i)].experts = (i + 1) % every == 0;
  }
  model.moe = moe;
}

void read_latent(MapReader& map, ModelSpec& model, Diagnostics& errors) {
  const std::optional<Config> node = map.child("latent_attention");
  if (!node) return;
  MapReader reader(*node, errors);
  MlaSpec mla;
  mla.q_rank = reader.get<std::int64_t>("q_rank", 0, non_negative);
  mla.kv_rank = reader.require<std::int64_t>("kv_rank", at_least_one);
  mla.nope_dim = reader.require<std::int64_t>("nope_dim", at_least_one);
  mla.rope_dim = reader.require<std::int64_t>("rope_dim", at_least_one);
  mla.value_dim = reader.require<std::int64_t>("value_dim", at_least_one);
  reader.done();
  for (LayerSpec& layer : model.layers) {
    layer.kv_heads = 1;
    layer.head_dim = mla.nope_dim + mla.rope_dim;
  }
  model.mla = mla;
}

void read_shape(MapReader& map, ModelSpec& model, Diagnostics& errors) {
  model.hidden = map.require<std::int64_t>("hidden_size", at_least_one);
  model.heads = map.require<std::int64_t>("num_attention_heads", at_least_one);
  model.vocab = map.require<std::int64_t>("vocab_size", at_least_one);
  model.max_model_len = map.require<std::int64_t>("max_position_embeddings", at_least_one);
  const Range layer_range{1.0, 1e4};
  LayerSpec layer;
  if (!map.has("latent_attention")) {
    layer.kv_heads = map.require<std::int64_t>("num_key_value_heads", at_least_one);
    layer.head_dim = map.require<std::int64_t>("head_dim", at_least_one);
  }
  model.layers.assign(static_cast<std::size_t>(map.require<std::int64_t>("num_hidden_layers", layer_range)), layer);
  read_latent(map, model, errors);
  read_window(map, model, errors);
  read_experts(map, model, errors);
  model.intermediate = map.get<std::int64_t>("intermediate_size", 0, at_least_one);
}

void read_flags(MapReader& map, ModelSpec& model) {
  model.architecture = map.require<std::string>("architecture");
  model.gated_mlp = map.require<bool>("gated_mlp");
  model.activation = map.require<std::string>("activation");
  model.tied_embeddings = map.require<bool>("tie_word_embeddings");
  model.layer_norm = map.choice("norm", "rms", {"rms", "layer"}) == "layer";
  model.norms_per_layer = map.get<int>("norms_per_layer", 2, non_negative);
  model.outer_norms = map.get<int>("outer_norms", 1, non_negative);
  model.qkv_bias = map.get<bool>("qkv_bias", false);
  model.o_bias = map.get<bool>("o_bias", false);
  model.mlp_bias = map.get<bool>("mlp_bias", false);
  model.lm_head_bias = map.get<bool>("lm_head_bias", false);
  model.qk_norm = map.get<bool>("qk_norm", false) ? QkNorm::per_head : QkNorm::none;
  model.attention_sinks = map.get<bool>("attention_sinks", false);
  model.parallel_blocks = map.get<bool>("parallel_blocks", false);
  model.learned_positions = map.get<std::int64_t>("learned_positions", 0, non_negative);
  model.rotary = model.learned_positions == 0;
  model.token_types = map.get<std::int64_t>("token_types", 0, non_negative);
  model.encoder = map.get<bool>("encoder", false);
  model.pooler = map.get<bool>("pooler", false);
  model.draft_layers = map.get<std::int64_t>("draft_layers", 0, non_negative);
}

void read_precision(MapReader& map, ModelSpec& model) {
  const std::string dtype = map.choice("dtype", "bf16", {"bf16", "fp16"});
  model.release_dtype = dtype == "fp16" ? DType::fp16 : DType::bf16;
  model.formats = {weight_format("none", model.release_dtype)};
  const std::string quantization = map.choice("quantization", "none", quantization_names());
  if (quantization != "none") model = with_precision(std::move(model), quantization);
}

}  // namespace

ModelSpec parse_catalog_model(const Config& file, const std::string& name, Diagnostics& errors) {
  MapReader map(file, errors);
  ModelSpec model;
  model.name = name;
  map.require<std::string>("hf_id");
  read_shape(map, model, errors);
  read_flags(map, model);
  read_precision(map, model);
  model.sources = map.list<std::string>("sources");
  model.notes = map.list<std::string>("notes");
  if (model.sources.empty()) map.mistake("sources", "missing: say where the numbers come from");
  map.done();
  if (errors.empty())
    check_spec(model, [&](const std::string& key, const std::string& what) { map.mistake(key, what); });
  return model;
}

std::optional<ModelSpec> find_catalog_model(const std::string& name) {
  for (const EmbeddedFile& file : model_catalog_files()) {
    if (file.name != name) continue;
    Diagnostics errors;
    ModelSpec model = parse_catalog_model(Config::parse(file.text, "catalog:" + name), name, errors);
    errors.throw_if_any();
    return model;
  }
  return std::nullopt;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : model_catalog_files()) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

ModelSpec load_model(const std::string& name_or_path) {
  namespace fs = std::filesystem;
  if (std::optional<ModelSpec> model = find_catalog_model(name_or_path)) return *std::move(model);
  std::error_code ignored;
  const bool looks_like_a_path =
      name_or_path.find('/') != std::string::npos || fs::path(name_or_path).extension() == ".json";
  if (fs::exists(name_or_path, ignored)) return load_hf_config(name_or_path);
  if (looks_like_a_path && fs::path(name_or_path).extension() == ".json") {
    throw ConfigError("no such file: `" + name_or_path + "`");
  }
  throw ConfigError("unknown model `" + name_or_path + "`" + suggestion(name_or_path, model_names()) +
                    "; or give the path of a Hugging Face config.json");
}

}  // namespace ridgeline
