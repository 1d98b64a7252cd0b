#include "models/hf_config.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/gguf_metadata.hpp"
#include "models/hf_families.hpp"
#include "models/hf_layers.hpp"
#include "models/hf_quantization.hpp"
#include "models/hf_rope.hpp"
#include "models/json_document.hpp"
#include "models/spec_check.hpp"

namespace ridgeline {
namespace {

using namespace hf_trait;

using Names = std::vector<std::string>;

// Sections that hold the language model of a multimodal checkpoint.
const Names text_sections{"text_config", "llm_config", "language_config"};

// One dimension under all the names that families gave it, the most common first.
const Names hidden_names{"hidden_size", "n_embd", "d_model", "n_embed", "model_dim"};
const Names layer_names{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
const Names head_names{"num_attention_heads", "n_head", "n_heads", "num_heads"};
const Names kv_head_names{"num_key_value_heads", "num_kv_heads",     "n_head_kv",
                          "n_kv_heads",          "num_query_groups", "multi_query_group_num"};
const Names head_dim_names{"head_dim", "kv_channels", "attention_head_dim", "head_size"};
const Names mlp_names{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "ffn_dim_size"};
const Names vocab_names{"vocab_size", "n_vocab"};
const Names length_names{"max_position_embeddings", "n_positions",    "seq_length",       "max_seq_len",
                         "max_sequence_length",     "max_seq_length", "model_max_length", "n_ctx",
                         "max_target_positions"};
const Names expert_names{"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
const Names top_k_names{"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k",
                        "experts_per_token"};
const Names expert_width_names{"moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size"};

/// Reads one file section by section; every reader adds to the same list of mistakes.
class HfReader {
 public:
  HfReader(const JsonObject& root, const JsonObject& text, const HfFamily& family, Diagnostics& errors)
      : root_(root), config_(text), family_(family), errors_(errors) {}

  ModelSpec read() {
    read_dtype();
    read_shape();
    read_flags();
    if (errors_.empty()) read_layers();
    if (errors_.empty()) {
      read_length();
      if (root_.has("vision_config") || root_.has("audio_config")) {
        model_.notes.emplace_back("vision and audio towers are not sized: text model only");
      }
      read_quantization(root_.has("quantization_config") || root_.has("compression_config") ? root_ : config_, model_,
                        errors_);
    }
    return std::move(model_);
  }

 private:
  std::optional<std::int64_t> dimension(const Names& names, double most) {
    const std::string key = config_.first_of(names);
    return key.empty() ? std::nullopt : config_.integer(key, errors_, {1.0, most});
  }
  std::int64_t require(const Names& names, double most) {
    if (config_.first_of(names).empty()) {
      const Names others(names.begin() + 1, names.end());
      errors_.add(config_.mistake(names.front(),
                                  others.empty() ? "missing" : fmt::format("missing (also looked for {})", fmt::join(others, ", "))));
      return 0;
    }
    return dimension(names, most).value_or(0);
  }
  bool flag(const char* key, bool fallback) {
    return config_.has(key) ? config_.boolean(key, errors_).value_or(fallback) : fallback;
  }

  void read_dtype() {
    const JsonObject& place = config_.first_of({"torch_dtype", "dtype"}).empty() ? root_ : config_;
    const std::string key = place.first_of({"torch_dtype", "dtype"});
    std::string name = key.empty() ? "bfloat16" : place.text(key, errors_).value_or("bfloat16");
    if (name.rfind("torch.", 0) == 0) name = name.substr(6);
    // vLLM serves fp32 checkpoints, and those that do not say, in 16 bits (`config._get_and_verify_dtype`).
    if (name == "bfloat16" || name == "float32" || name == "auto") {
      model_.release_dtype = DType::bf16;
    } else if (name == "float16") {
      model_.release_dtype = DType::fp16;
    } else {
      errors_.add(place.mistake(
          key, "unsupported dtype `" + name + "`" + suggestion(name, {"bfloat16", "float16", "float32"})));
    }
    if (key.empty()) model_.notes.emplace_back("no torch_dtype: 16-bit weights are taken to be bf16");
    const std::string plain(to_string(model_.release_dtype));
    model_.formats = {{.name = plain, .storage = model_.release_dtype, .math = model_.release_dtype}};
  }

  void read_shape() {
    model_.hidden = require(hidden_names, 1e6);
    const std::int64_t layers = require(layer_names, 1e4);
    model_.heads = require(head_names, 1e5);
    model_.vocab = config_.has("padded_vocab_size") ? require({"padded_vocab_size"}, 1e8) : require(vocab_names, 1e8);
    kv_heads_ = read_kv_heads();
    head_dim_ = read_head_dim();
    model_.layers.assign(static_cast<std::size_t>(layers), LayerSpec{});
    if (config_.has("kv_lora_rank")) read_latent();
    read_moe();
    read_mlp();
  }

  std::int64_t read_kv_heads() {
    if (family_.model_type == "falcon" || family_.model_type == "RefinedWeb" ||
        family_.model_type == "RefinedWebModel") {
      return read_falcon_kv_heads();
    }
    if (flag("multi_query", false)) return 1;
    if (config_.has("multi_query_attention") && !flag("multi_query_attention", true)) return model_.heads;
    if (const auto attention =
            config_.is_object("attn_config") ? config_.object("attn_config", errors_) : std::nullopt) {
      const auto heads = attention->integer("kv_n_heads", errors_, at_least_one);
      if (heads) return *heads;
      if (attention->text("attn_type", errors_).value_or("") == "multiquery_attention") return 1;
    }
    const std::string key = config_.first_of(kv_head_names);
    if (key.empty()) return model_.heads;  // absent or null: every query head has its own
    return config_.integer(key, errors_, {1.0, 1e5}).value_or(0);
  }

  /// Falcon-40B and later group their KV heads; Falcon-7B has one (`multi_query`) whatever num_kv_heads says.
  std::int64_t read_falcon_kv_heads() {
    const bool grouped = flag("new_decoder_architecture", config_.has("n_head_kv"));
    if (!grouped && flag("multi_query", true)) return 1;
    const std::string key = config_.first_of({"num_kv_heads", "n_head_kv"});
    return key.empty() ? model_.heads : config_.integer(key, errors_, {1.0, 1e5}).value_or(0);
  }

  std::int64_t read_head_dim() {
    const std::string key = config_.first_of(head_dim_names);
    if (!key.empty()) return config_.integer(key, errors_, {1.0, 1e4}).value_or(0);
    if (model_.hidden == 0 || model_.heads == 0 || config_.has("kv_lora_rank")) return 0;
    if (model_.hidden % model_.heads != 0) {
      errors_.add(config_.mistake(
          config_.first_of(head_names),
          fmt::format("{} heads do not divide hidden size {}; state `head_dim` if heads have another width",
                      model_.heads, model_.hidden)));
      return 0;
    }
    return model_.hidden / model_.heads;
  }

  void read_latent() {
    MlaSpec mla;
    mla.q_rank = dimension({"q_lora_rank"}, 1e6).value_or(0);
    mla.kv_rank = require({"kv_lora_rank"}, 1e6);
    mla.nope_dim = require({"qk_nope_head_dim"}, 1e5);
    mla.rope_dim = require({"qk_rope_head_dim"}, 1e5);
    mla.value_dim = require({"v_head_dim"}, 1e5);
    model_.mla = mla;
    kv_heads_ = 1;
    head_dim_ = mla.nope_dim + mla.rope_dim;
  }

  void read_moe() {
    const std::string key = config_.first_of(expert_names);
    if (key.empty()) return;
    const std::int64_t experts = config_.integer(key, errors_, {0.0, 1e5}).value_or(0);
    if (experts <= 1) return;
    MoeSpec moe;
    moe.experts = experts;
    moe.top_k = require(top_k_names, 1e4);
    if (moe.top_k > experts) {
      errors_.add(config_.mistake(config_.first_of(top_k_names), fmt::format("{} of {} experts", moe.top_k, experts)));
    }
    const bool wide = family_.has(wide_experts) && config_.first_of(expert_width_names).empty();
    moe.intermediate = require(wide ? Names{"intermediate_size"} : expert_width_names, 1e7);
    moe.shared_experts = config_.integer("n_shared_experts", errors_, non_negative).value_or(0);
    moe.shared_intermediate = moe.intermediate;
    if (const auto width = config_.integer("shared_expert_intermediate_size", errors_, non_negative);
        width && *width > 0) {
      moe.shared_experts = 1;
      moe.shared_intermediate = *width;
    }
    if (family_.has(chunks)) moe.shared_experts = 1;  // Llama 4: one, as wide as an expert
    moe.router_bias = family_.has(expert_biased) || config_.text("topk_method", errors_).value_or("") == "noaux_tc" ||
                      family_.model_type == "deepseek_v3";
    moe.expert_bias = family_.has(expert_biased);
    moe.shared_gate = family_.has(shared_gated) && moe.shared_experts > 0;
    model_.moe = moe;
  }

  void read_mlp() {
    if (model_.moe) read_expert_layers(config_, model_, errors_);
    const bool all_experts = model_.moe && std::all_of(model_.layers.begin(), model_.layers.end(),
                                                       [](const LayerSpec& layer) { return layer.experts; });
    if (all_experts) return;
    if (model_.moe && family_.has(chunks)) {
      model_.intermediate = require({"intermediate_size_mlp"}, 1e7);
      return;
    }
    if (const auto ratio = config_.integer("expansion_ratio", errors_, {1.0, 64.0})) {
      model_.intermediate = *ratio * model_.hidden;
      return;
    }
    const bool implied = family_.has(four_times_hidden) && config_.first_of(mlp_names).empty();
    model_.intermediate = implied ? 4 * model_.hidden : require(mlp_names, 1e7);
    if (family_.has(halved_mlp)) model_.intermediate /= 2;
  }

  void read_flags() {
    model_.architecture = family_.architectures.empty() ? family_.model_type : family_.architectures.front();
    model_.gated_mlp = family_.has(gated);
    model_.activation = family_.activation;
    model_.tied_embeddings =
        flag("tie_word_embeddings", root_.has("tie_word_embeddings")
                                        ? root_.boolean("tie_word_embeddings", errors_).value_or(false)
                                        : family_.has(tied));
    model_.layer_norm = family_.has(layer_norm);
    model_.parallel_blocks = family_.has(parallel) && flag("use_parallel_residual", flag("parallel_attn", true));
    model_.norms_per_layer = family_.has(no_norm_weights) ? 0
                             : family_.has(four_norms)    ? 4
                             : family_.has(one_norm)      ? 1
                                                          : 2;
    if (family_.model_type == "falcon" && model_.parallel_blocks && !flag("new_decoder_architecture", false)) {
      model_.norms_per_layer = 1;
    }
    model_.outer_norms = family_.has(no_norm_weights) ? 0 : family_.has(embedding_norm) ? 2 : 1;
    model_.rotary = !family_.has(position_table) && !family_.has(alibi) && !flag("alibi", false);
    model_.attention_sinks = family_.has(sinks);
    model_.attention_gate = family_.has(output_gated) && flag("attn_output_gate", true);
    model_.lm_head_bias = family_.has(head_biased);
    model_.encoder = family_.has(bidirectional);
    model_.pooler = family_.has(bidirectional);
    if (model_.encoder) model_.token_types = require({"type_vocab_size"}, 1e4);
    read_biases();
    read_qk_norm();
    if (family_.model_type == "opt" && config_.has("word_embed_proj_dim") &&
        config_.integer("word_embed_proj_dim", errors_, at_least_one).value_or(0) != model_.hidden) {
      errors_.add(config_.mistake("word_embed_proj_dim", "a projected embedding is not modelled"));
    }
  }

  void read_biases() {
    model_.qkv_bias = family_.has(qkv_biased);
    model_.o_bias = family_.has(o_biased);
    model_.mlp_bias = family_.has(mlp_biased);
    // `bias` / `use_bias` / `enable_bias` / `add_bias_linear` speak of every linear layer, except InternLM's, which
    // spares the MLP.
    for (const char* key : {"use_bias", "enable_bias", "add_bias_linear", "bias"}) {
      if (!config_.has(key) || !config_.boolean(key, errors_)) continue;
      const bool all = *config_.boolean(key, errors_);
      model_.qkv_bias = model_.o_bias = all;
      if (family_.model_type != "internlm") model_.mlp_bias = all;
    }
    if (config_.has("no_bias") && family_.model_type == "mpt") {
      model_.qkv_bias = model_.o_bias = model_.mlp_bias = model_.layer_norm = !flag("no_bias", true);
    }
    for (const char* key : {"use_qkv_bias", "add_qkv_bias", "qkv_bias"}) model_.qkv_bias = flag(key, model_.qkv_bias);
    if (config_.has("attention_bias")) {
      model_.qkv_bias = flag("attention_bias", model_.qkv_bias);
      if (!family_.has(bias_spares_o)) model_.o_bias = model_.qkv_bias;
    }
    model_.o_bias = flag("attention_out_bias", model_.o_bias);
    model_.mlp_bias = flag("mlp_bias", model_.mlp_bias);
  }

  void read_qk_norm() {
    model_.qk_norm = family_.has(head_norm) ? QkNorm::per_head : family_.has(wide_norm) ? QkNorm::whole : QkNorm::none;
    for (const char* key : {"use_qk_norm", "qk_layernorm"}) {
      if (!config_.has(key) || family_.has(chunks)) continue;  // Llama 4's has no weights
      if (flag(key, false)) {
        model_.qk_norm = QkNorm::per_head;
      } else {
        model_.qk_norm = QkNorm::none;
      }
    }
  }

  void read_layers() {
    for (LayerSpec& layer : model_.layers) {
      layer.kv_heads = kv_heads_;
      layer.head_dim = head_dim_;
    }
    read_attention_kinds(config_, family_, model_, errors_);
    if (model_.count(AttentionKind::recurrent) == 0) return;
    for (LayerSpec& layer : model_.layers) {
      if (layer.attention == AttentionKind::recurrent) layer.kv_heads = layer.head_dim = 0;
    }
    RecurrentSpec mixer;
    mixer.key_heads = require({"linear_num_key_heads"}, 1e5);
    mixer.value_heads = require({"linear_num_value_heads"}, 1e5);
    mixer.key_dim = require({"linear_key_head_dim"}, 1e5);
    mixer.value_dim = require({"linear_value_head_dim"}, 1e5);
    mixer.convolution = require({"linear_conv_kernel_dim"}, 1e3);
    model_.recurrent = mixer;
  }

  void read_length() {
    const std::int64_t declared = require(length_names, 1e9);
    if (declared == 0) return;
    model_.max_model_len = context_length(config_, family_.model_type, declared, errors_, model_.notes);
    if (family_.has(position_table)) model_.learned_positions = declared + (family_.has(position_offset) ? 2 : 0);
    model_.draft_layers = config_.integer("num_nextn_predict_layers", errors_, non_negative).value_or(0);
    if (model_.draft_layers > 0)
      model_.notes.emplace_back("multi-token-prediction layers of the checkpoint are not loaded");
  }

  const JsonObject& root_;
  const JsonObject& config_;
  const HfFamily& family_;
  Diagnostics& errors_;
  ModelSpec model_;
  std::int64_t kv_heads_ = 0;
  std::int64_t head_dim_ = 0;
};

JsonObject text_section(const JsonObject& root, Diagnostics& errors) {
  const std::string key = root.first_of(text_sections);
  if (key.empty()) return root;
  return root.object(key, errors).value_or(root);
}

std::string unknown_architecture(const std::string& name) {
  Names known;
  for (const HfFamily& family : hf_families()) {
    known.push_back(family.model_type);
    known.insert(known.end(), family.architectures.begin(), family.architectures.end());
  }
  return "unknown architecture `" + name + "`" + suggestion(name, known);
}

/// The family by `architectures`, as vLLM decides, else by `model_type`, of the text section first; a mistake and
/// nullptr when neither is known.
const HfFamily* identify(const JsonObject& root, const JsonObject& text, Diagnostics& errors) {
  Names candidates;
  for (const JsonObject* object : {&text, &root}) {
    for (const std::string& name : object->texts("architectures", errors).value_or(Names{})) candidates.push_back(name);
    if (const auto type = object->text("model_type", errors)) candidates.push_back(*type);
    if (&text == &root) break;
  }
  const std::string key = root.has("architectures") ? "architectures" : "model_type";
  for (const std::string& name : candidates) {
    if (const std::string reason = refusal_reason(name); !reason.empty()) {
      errors.add(root.mistake(key, "`" + name + "` " + reason));
      return nullptr;
    }
  }
  if (root.boolean("is_encoder_decoder", errors).value_or(false)) {
    errors.add(root.mistake("is_encoder_decoder", "encoder-decoder models are not supported"));
    return nullptr;
  }
  for (const std::string& name : candidates) {
    if (const HfFamily* family = find_family(name)) return family;
    if (const HfFamily* family = find_family_of_architecture(name)) return family;
  }
  if (candidates.empty()) {
    errors.add(
        root.mistake("model_type", "missing: `model_type` or `architectures` decides how the other keys are read"));
  } else {
    errors.add(root.mistake(key, unknown_architecture(candidates.front())));
  }
  return nullptr;
}

/// What an empty or nameless file lacks, beside its architecture.
void report_missing(const JsonObject& config, Diagnostics& errors) {
  for (const Names* names : {&hidden_names, &layer_names, &head_names, &vocab_names, &length_names}) {
    if (config.first_of(*names).empty()) errors.add(config.mistake(names->front(), "missing"));
  }
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw ConfigError("cannot read `" + path.string() + "`");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

ModelSpec parse_hf_config(std::string_view text, const std::string& file) {
  const JsonObject root = JsonObject::parse(text, file);
  if (is_gguf_metadata(root)) return read_gguf_metadata(root);
  Diagnostics errors;
  const JsonObject section = text_section(root, errors);
  const HfFamily* family = identify(root, section, errors);
  if (family == nullptr) {
    if (section.keys().size() < 3) report_missing(section, errors);
    errors.throw_if_any();
  }
  ModelSpec model = HfReader(root, section, *family, errors).read();
  if (errors.empty())
    check_spec(model, [&](const std::string& key, const std::string& what) { errors.add(section.mistake(key, what)); });
  errors.throw_if_any();
  model.name = file;
  model.sources = {file};
  return model;
}

ModelSpec load_hf_config(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const fs::path file = fs::is_directory(path) ? path / "config.json" : path;
  if (!fs::exists(file)) throw ConfigError("no such file: `" + file.string() + "`");
  constexpr std::uintmax_t largest = 64u << 20;
  if (fs::is_regular_file(file) && fs::file_size(file) > largest)
    throw ConfigError("`" + file.string() + "` is larger than 64 MiB");
  ModelSpec model = parse_hf_config(read_text(file), file.string());
  const fs::path beside = file.parent_path() / "hf_quant_config.json";
  if (model.quantization == "none" && file.filename() == "config.json" && fs::exists(beside)) {
    Diagnostics errors;
    read_modelopt_file(JsonObject::parse(read_text(beside), beside.string()), model, errors);
    errors.throw_if_any();
  }
  return model;
}

}  // namespace ridgeline
