#include "models/hf_config.hpp"

#include <string>

#include <fmt/format.h>

#include "models/kv_bytes.hpp"
#include "models/parameters.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

/// A small Llama-like file with `extra` keys, which may replace its own.
std::string config(const std::string& extra, const std::string& model_type = "llama") {
  return fmt::format(R"({{"model_type": "{}", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 12,
    "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 8192{}{}}})",
                     model_type, extra.empty() ? "" : ", ", extra);
}

ModelSpec read(const std::string& text) { return parse_hf_config(text, "config.json"); }

/// The message of the refusal, or "" when accepted.
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& message, const std::string& word) { return message.find(word) != std::string::npos; }

std::string quantised(const std::string& section, const std::string& extra = "") {
  return config("\"quantization_config\": " + section + extra);
}

}  // namespace

TEST_CASE("names of old families") {
  // GPT-2: 4 x hidden, tied, learned positions. 124,439,808 parameters as published.
  const ModelSpec gpt2 = read(R"({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024,
                                  "vocab_size": 50257})");
  CHECK(count_parameters(gpt2).total() == 124'439'808);
  // OPT-125M: 125,239,296 (two more position rows than positions).
  const ModelSpec opt = read(R"({"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12,
      "num_attention_heads": 12, "max_position_embeddings": 2048, "vocab_size": 50272, "word_embed_proj_dim": 768})");
  CHECK(count_parameters(opt).total() == 125'239'296);
  // Falcon-7B: one KV head, one norm a layer: 6,921,720,704 as published.
  const ModelSpec falcon = read(R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
      "num_attention_heads": 71, "num_kv_heads": 71, "multi_query": true, "parallel_attn": true, "bias": false,
      "new_decoder_architecture": false, "vocab_size": 65024, "max_position_embeddings": 2048})");
  CHECK(count_parameters(falcon).total() == 6'921'720'704);
  CHECK(kv_bytes_per_token(falcon, {}) == Bytes{32 * 2 * 64 * 2});
  // BLOOM-7B1: norm on the embedding, alibi: 7,069,016,064 as published.
  const ModelSpec bloom = read(R"({"model_type": "bloom", "n_embed": 4096, "n_layer": 30, "num_attention_heads": 32,
      "vocab_size": 250880, "seq_length": 2048})");
  CHECK(count_parameters(bloom).total() == 7'069'016'064);
  // GPT-NeoX-20B: 20,554,567,680 as published.
  const ModelSpec neox = read(R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
      "num_hidden_layers": 44, "num_attention_heads": 64, "vocab_size": 50432, "max_position_embeddings": 2048,
      "tie_word_embeddings": false})");
  CHECK(count_parameters(neox).total() == 20'554'567'680);
  // MPT-7B: 6,649,286,656 as published; expansion ratio instead of a width.
  const ModelSpec mpt =
      read(R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4,
      "vocab_size": 50432, "max_seq_len": 2048, "no_bias": true, "attn_config": {"attn_type": "multihead_attention"}})");
  CHECK(count_parameters(mpt).total() == 6'649'286'656);
  // Phi-2: 2,779,683,840 as published.
  const ModelSpec phi =
      read(R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 51200, "max_position_embeddings": 2048,
      "tie_word_embeddings": false})");
  CHECK(count_parameters(phi).total() == 2'779'683'840);
}

TEST_CASE("null and absent KV heads mean one per query head") {
  const ModelSpec null_heads = read(R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096,
      "num_hidden_layers": 2, "num_attention_heads": 16, "num_key_value_heads": null, "vocab_size": 100,
      "max_position_embeddings": 64})");
  CHECK(null_heads.layers.front().kv_heads == 16);
  CHECK(read(config("\"multi_query\": true")).layers.front().kv_heads == 1);
}

TEST_CASE("a declared head_dim wins over the division") {
  CHECK(read(config("\"head_dim\": 128")).layers.front().head_dim == 128);
  CHECK(read(config("\"head_dim\": null")).layers.front().head_dim == 64);
}

TEST_CASE("context length after the rope rules") {
  const auto length = [](const std::string& rope) { return read(config("\"rope_scaling\": " + rope)).max_model_len; };
  CHECK(length("null") == 8192);
  CHECK(length(R"({"type": "linear", "factor": 4.0})") == 32768);
  CHECK(length(R"({"rope_type": "dynamic", "factor": 2.0})") == 16384);
  CHECK(length(R"({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192})") == 8192);
  CHECK(length(R"({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096})") == 16384);
  CHECK(length(R"({"type": "deepseek_yarn", "factor": 40, "original_max_position_embeddings": 4096})") == 163840);
  CHECK(length(R"({"type": "yarn", "factor": 4.0})") == 8192);  // never declared x factor
  CHECK(length(R"({"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]})") == 8192);
  CHECK(length(R"({"type": "mrope", "mrope_section": [16, 24, 24]})") == 8192);
  CHECK(mentions(refusal(config(R"("rope_scaling": {"type": "yam", "factor": 4.0})")), "yarn"));
  CHECK(mentions(refusal(config(R"("rope_scaling": {"type": "linear", "factor": -1})")), "rope_scaling.factor"));
  CHECK(mentions(refusal(config(R"("rope_scaling": 4)")), "rope_scaling"));
}

TEST_CASE("sliding windows by flag, pattern and list") {
  const auto sliding = [](const std::string& extra, const char* type) {
    return read(config(extra, type)).count(AttentionKind::sliding);
  };
  CHECK(sliding(R"("sliding_window": 4096)", "llama") == 0);
  CHECK(sliding(R"("sliding_window": 4096)", "mistral") == 12);
  CHECK(sliding(R"("sliding_window": null)", "mistral") == 0);
  CHECK(sliding(R"("sliding_window": 4096)", "qwen2") == 0);
  CHECK(sliding(R"("sliding_window": 4096, "use_sliding_window": false)", "qwen2") == 0);
  CHECK(sliding(R"("sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 8)", "qwen2") == 4);
  CHECK(sliding(R"("sliding_window": 4096)", "gemma2") == 6);
  CHECK(sliding(R"("sliding_window": 512, "sliding_window_pattern": 4)", "gemma3_text") == 9);
  CHECK(sliding(R"("sliding_window": 512)", "gemma3_text") == 10);
  CHECK(mentions(refusal(config(R"("layer_types": ["full_attention"])")), "lists 1 layers"));
  CHECK(mentions(refusal(config(R"("sliding_window": "4096")", "mistral")), "expected an integer"));
}

TEST_CASE("all mistakes of a file are reported at once") {
  const std::string message = refusal(R"({"model_type": "llama", "hidden_size": "1024", "num_hidden_layers": -3,
      "num_attention_heads": 16, "vocab_size": 1e300})");
  for (const char* key : {"hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size"})
    CHECK(mentions(message, key));
  CHECK(mentions(message, "config.json:1:"));
}

TEST_CASE("places of mistakes") {
  CHECK(mentions(refusal("{\n  \"model_type\": \"llama\",\n  \"hidden_size\": true\n}"), "config.json:3:3"));
  CHECK(mentions(refusal("{\n\t\"a\": 1,\n\t\"a\": 2\n}"), "duplicate key"));
  CHECK(mentions(refusal("{\"a\": NaN}"), "config.json:1:"));
  CHECK(mentions(refusal(""), "not JSON"));
  CHECK(mentions(refusal("\xEF\xBB\xBF[]"), "expected an object"));
  CHECK(mentions(refusal(std::string(100000, '[')), "not JSON"));
  CHECK(mentions(refusal("{\"a\": " + std::string(500, '[') + std::string(500, ']') + "}"), "nested deeper"));
}

TEST_CASE("the architecture decides before the model type") {
  CHECK(read(config(R"("architectures": ["MistralForCausalLM"], "sliding_window": 4096)"))
            .count(AttentionKind::sliding) == 12);
  CHECK(mentions(refusal(config(R"("num_key_value_heads_": 1, "num_attention_heads": 10)")), "duplicate key"));
}

TEST_CASE("contradictions stand at their key") {
  const std::string message = refusal(R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096,
"num_hidden_layers": 12, "num_attention_heads": 16,
"num_key_value_heads": 7, "vocab_size": 32000, "max_position_embeddings": 8192})");
  CHECK(mentions(message, "config.json:3:1: num_key_value_heads"));
}

TEST_CASE("unknown architectures are refused with near matches") {
  CHECK(mentions(refusal(config("", "lama")), "llama"));
  CHECK(mentions(refusal(config("", "jamba")), "state-space"));
  CHECK(mentions(refusal(config("\"is_encoder_decoder\": true")), "encoder-decoder"));
  // A wrapper's type may be unknown as long as the text section's is known.
  CHECK(refusal(R"({"model_type": "llava_next", "text_config": )" + config("") + "}").empty());
}

TEST_CASE("vision sections never lend their dimensions") {
  const std::string message =
      refusal(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560},
      "vision_config": {"num_hidden_layers": 27, "num_attention_heads": 16, "intermediate_size": 4304}})");
  CHECK(mentions(message, "text_config.num_hidden_layers"));
  CHECK(mentions(message, "text_config.num_attention_heads"));
}

TEST_CASE("quantised checkpoints: bytes per weight and what stays 16-bit") {
  const auto bits = [](const std::string& section) {
    const ModelSpec model = read(quantised(section));
    return model.format(model.layers.front(), LinearKind::down).bits;
  };
  CHECK(bits(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})") == 8.0);
  CHECK(bits(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})") == 8.0 + 32.0 / 16384);
  CHECK(bits(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})") == 4.15625);
  CHECK(bits(R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": true})") == 4.125);
  CHECK(bits(R"({"quant_method": "gptq", "bits": 8, "group_size": -1, "sym": true})") == 8.0);
  CHECK(bits(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]})") == 4.5);
  CHECK(bits(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})") == 4.5);
  CHECK(bits(R"({"quant_method": "mxfp4"})") == 4.25);
  const std::string grouped =
      R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
      "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true}}}})";
  CHECK(bits(grouped) == 4.125);
  const ModelSpec model = read(quantised(grouped));
  CHECK(model.format(model.layers.front(), LinearKind::down).math == DType::bf16);
  CHECK(model.lm_head_format == 0);
}

TEST_CASE("ignore lists: exact names, globs and regular expressions") {
  const auto format = [](const std::string& list, std::size_t layer, LinearKind kind) {
    const ModelSpec model = read(quantised(R"({"quant_method": "fp8", "ignored_layers": )" + list + "}"));
    return model.format(model.layers[layer], kind).name;
  };
  CHECK(format(R"(["model.layers.1.self_attn"])", 1, LinearKind::qkv) == "bf16");
  CHECK(format(R"(["model.layers.1.self_attn"])", 10, LinearKind::qkv) == "fp8");
  CHECK(format(R"(["model.layers.*.self_attn*"])", 5, LinearKind::o) == "bf16");
  CHECK(format(R"(["re:.*layers\\.(0|11)\\.mlp.*"])", 11, LinearKind::down) == "bf16");
  CHECK(format(R"(["re:.*layers\\.(0|11)\\.mlp.*"])", 2, LinearKind::down) == "fp8");
  CHECK(format(R"(["lm_head"])", 0, LinearKind::down) == "fp8");
  CHECK(
      mentions(refusal(quantised(R"({"quant_method": "fp8", "ignored_layers": ["model.layers.0.self_attn.q_proj"]})")),
               "fused"));
  CHECK(mentions(refusal(quantised(R"({"quant_method": "fp8", "ignored_layers": ["re:("]})")), "regular expression"));
}

TEST_CASE("what a checkpoint asks of the KV cache") {
  CHECK(read(quantised(R"({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"})"))
            .kv_cache_dtype == "fp8");
  CHECK(read(quantised(R"({"quant_method": "fp8"})")).kv_cache_dtype == "auto");
}

TEST_CASE("unknown quantisation is never sized as bf16") {
  for (const char* method : {"aqlm", "quip", "hqq", "exl2", "bitnet"}) {
    CHECK(mentions(refusal(quantised(fmt::format(R"({{"quant_method": "{}"}})", method))), method));
  }
  CHECK(mentions(refusal(quantised(R"({"bits": 4})")), "quant_method"));
  CHECK(mentions(refusal(quantised(R"({"quant_method": "awq"})")), "group_size"));
  CHECK(mentions(refusal(quantised(R"({"quant_method": "awq", "bits": 5, "group_size": 128})")), "bits"));
  CHECK(mentions(refusal(quantised(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})")),
                 "MIXED_PRECISION"));
  CHECK(mentions(refusal(quantised(R"("awq")")), "expected an object"));
}

TEST_CASE("mixtures of experts: counts, shared experts and dense layers") {
  const std::string experts =
      R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 2048)";
  const ModelSpec model = read(config(experts + R"(, "decoder_sparse_step": 2, "mlp_only_layers": [1])", "qwen2_moe"));
  CHECK_FALSE(model.layers[0].experts);
  CHECK_FALSE(model.layers[1].experts);
  CHECK(model.layers[3].experts);
  CHECK(model.moe->shared_experts == 1);
  CHECK(model.moe->shared_intermediate == 2048);
  CHECK(mentions(refusal(config(R"("num_experts": 8, "moe_intermediate_size": 512)", "qwen3_moe")),
                 "num_experts_per_tok"));
  CHECK(mentions(
      refusal(config(R"("num_experts": 8, "num_experts_per_tok": 9, "moe_intermediate_size": 5)", "qwen3_moe")),
      "9 of 8"));
}

TEST_CASE("GGUF metadata: per-layer KV heads and head width") {
  const auto gguf = [](const std::string& extra) {
    return R"({"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 1024,
        "llama.feed_forward_length": 4096, "llama.attention.head_count": 16, "llama.context_length": 8192,
        "llama.vocab_size": 32000)" +
           extra + "}";
  };
  const ModelSpec listed =
      read(gguf(R"(, "llama.attention.head_count_kv": [8, 4], "llama.attention.key_length": 128)"));
  CHECK(kv_bytes_per_token(listed, {}) == Bytes{(8 + 4) * 128 * 2 * 2});
  CHECK(read(gguf("")).layers.front().kv_heads == 16);
  CHECK(mentions(refusal(gguf(R"(, "llama.attention.head_count_kv": [8])")), "lists 1 layers"));
  CHECK(mentions(refusal(gguf(R"(, "general.file_type": 999)")), "999"));
}

}  // namespace ridgeline
