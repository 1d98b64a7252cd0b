#include "models/gguf_metadata.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "models/hf_families.hpp"
#include "models/spec_check.hpp"

namespace ridgeline {
namespace {

using namespace hf_trait;

/// `general.file_type` and the bits per weight over the whole file, embeddings and scales included (llama.cpp
/// `tools/quantize/README.md`, measured on Llama-3.1-8B; legacy formats by their block layout).
struct FileType {
  std::int64_t id;
  const char* name;
  DType storage;
  double bits;
};
constexpr FileType file_types[] = {
    {1, "f16", DType::fp16, 16.0},       {2, "q4_0", DType::int4, 4.5},       {3, "q4_1", DType::int4, 5.0},
    {7, "q8_0", DType::int8, 8.5},       {8, "q5_0", DType::int8, 5.5},       {9, "q5_1", DType::int8, 6.0},
    {10, "q2_k", DType::int2, 3.1593},   {11, "q3_k_s", DType::int4, 3.6429}, {12, "q3_k_m", DType::int4, 3.9960},
    {13, "q3_k_l", DType::int4, 4.2979}, {14, "q4_k_s", DType::int4, 4.6672}, {15, "q4_k_m", DType::int4, 4.8944},
    {16, "q5_k_s", DType::int8, 5.5704}, {17, "q5_k_m", DType::int8, 5.7036}, {18, "q6_k", DType::int8, 6.5633},
    {32, "bf16", DType::bf16, 16.0},
};

class GgufReader {
 public:
  GgufReader(const JsonObject& root, Diagnostics& errors) : root_(root), errors_(errors) {}

  ModelSpec read() {
    architecture_ = root_.text("general.architecture", errors_).value_or("");
    const HfFamily* family = find_family(architecture_);
    if (family == nullptr) {
      std::vector<std::string> known;
      for (const HfFamily& row : hf_families()) known.push_back(row.model_type);
      errors_.add(root_.mistake("general.architecture", "GGUF metadata of an unknown architecture `" + architecture_ +
                                                            "`" + suggestion(architecture_, known)));
      return {};
    }
    read_shape(*family);
    read_file_type();
    return std::move(model_);
  }

 private:
  std::string key(const char* name) const { return architecture_ + "." + name; }
  std::int64_t require(const char* name, double most) {
    if (!root_.has(key(name))) {
      errors_.add(root_.mistake(key(name), "missing"));
      return 0;
    }
    return root_.integer(key(name), errors_, {1.0, most}).value_or(0);
  }

  void read_shape(const HfFamily& family) {
    model_.architecture = family.architectures.empty() ? family.model_type : family.architectures.front();
    model_.activation = family.activation;
    model_.gated_mlp = family.has(gated);
    model_.qkv_bias = family.has(qkv_biased);
    model_.o_bias = family.has(o_biased);
    model_.mlp_bias = family.has(mlp_biased);
    model_.tied_embeddings = family.has(tied);
    model_.layer_norm = family.has(layer_norm);
    model_.norms_per_layer = family.has(four_norms) ? 4 : 2;
    model_.qk_norm = family.has(head_norm) ? QkNorm::per_head : QkNorm::none;
    model_.hidden = require("embedding_length", 1e6);
    model_.heads = require("attention.head_count", 1e5);
    model_.intermediate = require("feed_forward_length", 1e7);
    model_.vocab = require("vocab_size", 1e8);
    model_.max_model_len = require("context_length", 1e9);
    model_.layers.assign(static_cast<std::size_t>(require("block_count", 1e4)), LayerSpec{});
    if (root_.has(key("expert_count")) && root_.integer(key("expert_count"), errors_, {0.0, 1e5}).value_or(0) > 0) {
      errors_.add(
          root_.mistake(key("expert_count"), "GGUF metadata of mixtures of experts is not supported; use config.json"));
    }
    const std::int64_t window = root_.integer(key("attention.sliding_window"), errors_, {0.0, 1e9}).value_or(0);
    if (window > 0) {
      errors_.add(root_.mistake(key("attention.sliding_window"),
                                "GGUF metadata does not say which layers slide; use config.json"));
    }
    read_heads();
  }

  void read_heads() {
    std::int64_t head_dim = root_.integer(key("attention.key_length"), errors_, {1.0, 1e4}).value_or(0);
    if (head_dim == 0 && model_.heads > 0) {
      if (model_.hidden % model_.heads != 0) {
        errors_.add(root_.mistake(
            key("attention.head_count"),
            fmt::format("{} heads do not divide {}; attention.key_length is missing", model_.heads, model_.hidden)));
      }
      head_dim = model_.hidden / model_.heads;
    }
    const std::string kv = key("attention.head_count_kv");
    std::vector<std::int64_t> per_layer(model_.layers.size(), model_.heads);
    if (root_.is_array(kv)) {
      const auto list = root_.integers(kv, errors_, {0.0, 1e5}).value_or(std::vector<std::int64_t>{});
      if (list.size() != per_layer.size()) {
        errors_.add(
            root_.mistake(kv, fmt::format("lists {} layers, but the model has {}", list.size(), per_layer.size())));
      } else {
        per_layer = list;
      }
    } else if (root_.has(kv)) {
      std::fill(per_layer.begin(), per_layer.end(), root_.integer(kv, errors_, {1.0, 1e5}).value_or(0));
    }
    for (std::size_t i = 0; i < per_layer.size(); ++i) {
      model_.layers[i].kv_heads = per_layer[i];
      model_.layers[i].head_dim = head_dim;
    }
  }

  void read_file_type() {
    model_.release_dtype = DType::fp16;
    model_.formats = {{.name = "fp16", .storage = DType::fp16, .math = DType::fp16}};
    const std::optional<std::int64_t> type = root_.integer("general.file_type", errors_, {0.0, 1e4});
    if (!type) {
      model_.notes.emplace_back("no general.file_type: weights are taken to be fp16");
      return;
    }
    const auto found =
        std::find_if(std::begin(file_types), std::end(file_types), [&](const FileType& t) { return t.id == *type; });
    if (found == std::end(file_types)) {
      errors_.add(root_.mistake("general.file_type", fmt::format("unknown or unsupported GGUF file type {}", *type)));
      return;
    }
    if (found->bits >= 16.0) return;
    model_.quantization = fmt::format("gguf {}", found->name);
    model_.formats.push_back(
        {.name = found->name, .storage = found->storage, .math = DType::fp16, .bits = found->bits});
    model_.lm_head_format = model_.embedding_format = 1;
    for (LayerSpec& layer : model_.layers) layer.format.fill(1);
  }

  const JsonObject& root_;
  Diagnostics& errors_;
  std::string architecture_;
  ModelSpec model_;
};

}  // namespace

bool is_gguf_metadata(const JsonObject& root) { return root.has("general.architecture"); }

ModelSpec read_gguf_metadata(const JsonObject& root) {
  Diagnostics errors;
  ModelSpec model = GgufReader(root, errors).read();
  if (errors.empty())
    check_spec(model, [&](const std::string& key, const std::string& what) { errors.add(root.mistake(key, what)); });
  errors.throw_if_any();
  model.name = root.file();
  model.sources = {root.file()};
  return model;
}

}  // namespace ridgeline
