// Configurations as users have them, kept outside the project; the right answers stand here.
#include <cmath>
#include <string>

#include "models/hf_config.hpp"
#include "models/kv_bytes.hpp"
#include "models/parameters.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

namespace ridgeline {
namespace {

/// `parameters` and `weights_gib` 0 = not stated.
struct Accepted {
  const char* file;
  std::int64_t kv_bytes;
  std::int64_t max_model_len;
  std::int64_t growing_layers;
  double parameters;
  double parameters_tolerance;
  double weights_gib;
  double weights_tolerance;
};

constexpr Accepted accepted[] = {
    {"mha_no_kv_heads.json", 524288, 4096, 32, 6738415616, 0, 0, 0},
    {"gpt2_short_names.json", 36864, 1024, 12, 124439808, 0, 0, 0},
    {"chatglm3_group_num.json", 28672, 8192, 28, 6243584000, 0, 0, 0},
    {"mistral_small_24b_head_dim.json", 163840, 32768, 40, 23572403200, 0, 0, 0},
    {"llama3_70b_tp16.json", 327680, 131072, 80, 70553706496, 0, 0, 0},
    {"gemma3_12b_text_config.json", 393216, 131072, 8, 11.77e9, 0.01, 0, 0},  // 12.2e9 with the vision tower
    {"llama4_scout_chunked.json", 196608, 10485760, 12, 109e9, 0.02, 0, 0},
    {"mixtral_num_local_experts.json", 131072, 32768, 32, 46702792704, 0, 87.0, 0.001},
    {"qwen3_30b_a3b_num_experts.json", 98304, 40960, 48, 30532122624, 0, 0, 0},
    {"deepseek_v3_mla_fp8.json", 70272, 163840, 61, 671e9, 0.001, 640, 0.025},  // 627 without the MTP layer
    {"llama33_70b_fp8_compressed_tensors.json", 327680, 131072, 80, 70553706496, 0, 67.7, 0.01},
    {"llama31_8b_nvfp4_modelopt_kvfp8.json", 65536, 131072, 32, 8030261248, 0, 5.6, 0.03},
    {"qwen25_7b_awq_int4.json", 57344, 32768, 28, 7615616512, 0, 5.2, 0.03},
    {"qwen3_8b_new_style_names.json", 147456, 40960, 36, 8190735360, 0, 0, 0},
    {"qwen25_7b_yarn4.json", 57344, 131072, 28, 7615616512, 0, 0, 0},
    {"vicuna_16k_linear.json", 524288, 16384, 32, 6738415616, 0, 0, 0},
    {"gpt_oss_20b_layer_types.json", 49152, 131072, 12, 20914757184, 0, 13.4, 0.02},
    {"qwen3_next_hybrid_linear.json", 24576, 262144, 12, 80e9, 0.02, 0, 0},
    {"bad_bom_crlf.json", 131072, 131072, 32, 8030261248, 0, 0, 0},
    {"gguf_metadata_like.json", 131072, 8192, 32, 8030261248, 0, 0, 0},
    {"llama31_405b_fp8_partial.json", 516096, 131072, 126, 405853388800, 0, 453.7, 0.01},
};

struct Refused {
  const char* file;
  std::vector<std::string> words;  ///< all must be in the message
};

const std::vector<Refused> refused{
    {"t5_encoder_decoder.json", {"encoder-decoder"}},
    {"bad_trailing_comma.json", {":17:1", "not JSON"}},
    {"bad_numbers_as_strings.json", {"hidden_size", "num_hidden_layers", "expected an integer, got string \"4096\""}},
    {"bad_float_integers.json", {"num_attention_heads", "got 32.5"}},
    {"bad_heads_not_dividing.json", {"num_attention_heads", "30", "head_dim"}},
    {"bad_kv_more_than_heads.json", {"num_key_value_heads 64", "num_attention_heads 32"}},
    {"bad_kv_not_dividing.json", {"num_key_value_heads 7", "does not divide"}},
    {"bad_zero_layers_negative.json", {"num_hidden_layers", "vocab_size"}},
    {"bad_nan.json", {"not JSON"}},
    {"bad_empty_object.json", {"model_type", "hidden_size", "num_hidden_layers", "vocab_size"}},
    {"bad_array.json", {"expected an object"}},
    {"bad_no_architecture.json", {"model_type", "architectures"}},
    {"bad_quant_unknown.json", {"bitnet_b158"}},
};

}  // namespace

TEST_CASE("shared configurations are accepted with the right figures") {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const Accepted& row : accepted) {
    INFO(row.file);
    const ModelSpec model = load_hf_config(shared / "cases" / "configs" / row.file);
    CHECK(kv_bytes_per_token(model, kv_format("auto", model)).count() == row.kv_bytes);
    CHECK(model.max_model_len == row.max_model_len);
    CHECK(model.count(AttentionKind::full) == row.growing_layers);
    const double parameters = static_cast<double>(count_parameters(model).total());
    CHECK(std::abs(parameters - row.parameters) <= row.parameters_tolerance * row.parameters);
    if (row.weights_gib > 0) {
      const double gib = weight_bytes(model).total().as_double() / 1073741824.0;
      CHECK(gib == Approx(row.weights_gib).epsilon(row.weights_tolerance));
    }
  }
}

TEST_CASE("details of shared configurations") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const auto load = [&](const char* file) { return load_hf_config(shared / "cases" / "configs" / file); };
  CHECK(kv_bytes_per_token(load("gpt2_short_names.json"), {}) * 8192 == Bytes{301'989'888});
  CHECK(growing_kv_bytes_per_token(load("gpt_oss_20b_layer_types.json"), {}) == Bytes{24576});
  CHECK(load("gemma3_12b_text_config.json").count(AttentionKind::sliding) == 40);
  const ModelSpec llama = load("llama3_70b_tp16.json");
  CHECK(kv_bytes_per_token(llama, {}, {.tensor_parallel_size = 8}) == Bytes{40960});
  CHECK(kv_bytes_per_token(llama, {}, {.tensor_parallel_size = 16}) == Bytes{40960});
  // 56.8 GiB a GPU at TP8 within 1 %; 57.752 GiB with the early checkpoint's 16 KV heads.
  ModelSpec partial = load("llama31_405b_fp8_partial.json");
  const Shard eight{.tensor_parallel_size = 8};
  CHECK(weight_bytes(partial, eight).total().as_double() / 1073741824.0 == Approx(56.8).epsilon(0.01));
  for (LayerSpec& layer : partial.layers) layer.kv_heads = 16;
  CHECK(weight_bytes(partial, eight).total().as_double() / 1073741824.0 == Approx(57.752).epsilon(0.01));
  CHECK(kv_bytes_per_token(partial, {}, eight) == Bytes{129'024});
  // Active parameters.
  CHECK(static_cast<double>(active_parameters(load("mixtral_num_local_experts.json")).total()) / 1e9 ==
        Approx(12.9).epsilon(0.01));
  CHECK(static_cast<double>(active_parameters(load("qwen3_30b_a3b_num_experts.json")).total()) / 1e9 ==
        Approx(3.35).epsilon(0.01));
  CHECK(static_cast<double>(active_parameters(load("llama4_scout_chunked.json")).total()) / 1e9 ==
        Approx(17.0).epsilon(0.02));
}

TEST_CASE("shared configurations with mistakes are refused by name") {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const Refused& row : refused) {
    INFO(row.file);
    try {
      load_hf_config(shared / "cases" / "configs" / row.file);
      FAIL_CHECK("accepted");
    } catch (const ConfigError& error) {
      const std::string message = error.what();
      INFO(message);
      CHECK(message.find(row.file) != std::string::npos);
      for (const std::string& word : row.words) CHECK(message.find(word) != std::string::npos);
    }
  }
}

}  // namespace ridgeline
