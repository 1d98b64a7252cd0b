#include "models/hf_families.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

const std::vector<HfFamily>& hf_families() {
  using namespace hf_trait;
  constexpr std::uint32_t classic = layer_norm | qkv_biased | o_biased | mlp_biased | four_times_hidden;
  static const std::vector<HfFamily> families{
      {"llama", {"LlamaForCausalLM", "LLaMAForCausalLM"}, gated, "silu"},
      {"mistral", {"MistralForCausalLM"}, gated | windows_all, "silu"},
      {"ministral", {"MinistralForCausalLM"}, gated | windows_all, "silu"},
      {"mixtral", {"MixtralForCausalLM"}, gated | windows_all | wide_experts, "silu"},
      {"qwen", {"QWenLMHeadModel"}, gated | qkv_biased | halved_mlp, "silu"},
      {"qwen2", {"Qwen2ForCausalLM"}, gated | qkv_biased | windows_on_request, "silu"},
      {"qwen2_moe", {"Qwen2MoeForCausalLM"}, gated | qkv_biased | windows_on_request | shared_gated, "silu"},
      {"qwen2_vl", {"Qwen2VLForConditionalGeneration"}, gated | qkv_biased | windows_on_request, "silu"},
      {"qwen2_vl_text", {}, gated | qkv_biased | windows_on_request, "silu"},
      {"qwen2_5_vl", {"Qwen2_5_VLForConditionalGeneration"}, gated | qkv_biased | windows_on_request, "silu"},
      {"qwen2_5_vl_text", {}, gated | qkv_biased | windows_on_request, "silu"},
      {"qwen3", {"Qwen3ForCausalLM"}, gated | head_norm | windows_on_request, "silu"},
      {"qwen3_moe", {"Qwen3MoeForCausalLM"}, gated | head_norm | windows_on_request, "silu"},
      {"qwen3_vl_text", {}, gated | head_norm, "silu"},
      {"qwen3_vl_moe_text", {}, gated | head_norm, "silu"},
      {"qwen3_next", {"Qwen3NextForCausalLM"}, gated | head_norm | recurrent_mix | shared_gated | output_gated, "silu"},
      {"qwen3_5_text", {"Qwen3_5ForCausalLM"}, gated | head_norm | recurrent_mix | output_gated, "silu"},
      {"qwen3_5_moe_text",
       {"Qwen3_5MoeForCausalLM"},
       gated | head_norm | recurrent_mix | shared_gated | output_gated,
       "silu"},
      {"gemma", {"GemmaForCausalLM"}, gated | tied, "gelu"},
      {"gemma2", {"Gemma2ForCausalLM"}, gated | tied | four_norms | windows_alternate, "gelu_tanh"},
      {"gemma3_text", {"Gemma3ForCausalLM"}, gated | tied | four_norms | head_norm | windows_pattern, "gelu_tanh"},
      {"gemma3",
       {"Gemma3ForConditionalGeneration"},
       gated | tied | four_norms | head_norm | windows_pattern,
       "gelu_tanh"},
      {"phi", {"PhiForCausalLM"}, classic | parallel | one_norm | head_biased, "gelu_new"},
      {"phi3", {"Phi3ForCausalLM"}, gated | windows_all, "silu"},
      {"gpt2", {"GPT2LMHeadModel"}, classic | tied | position_table, "gelu_new"},
      {"gpt_bigcode", {"GPTBigCodeForCausalLM"}, classic | tied | position_table, "gelu_tanh"},
      {"gptj",
       {"GPTJForCausalLM"},
       layer_norm | mlp_biased | head_biased | parallel | one_norm | four_times_hidden,
       "gelu_new"},
      {"gpt_neox", {"GPTNeoXForCausalLM"}, classic | parallel, "gelu"},
      {"falcon", {"FalconForCausalLM", "RWForCausalLM"}, layer_norm | tied | parallel | four_times_hidden, "gelu"},
      {"RefinedWeb", {}, layer_norm | tied | parallel | four_times_hidden, "gelu"},
      {"RefinedWebModel", {}, layer_norm | tied | parallel | four_times_hidden, "gelu"},
      {"opt", {"OPTForCausalLM"}, classic | tied | position_table | position_offset, "relu"},
      {"bloom", {"BloomForCausalLM"}, classic | tied | alibi | embedding_norm, "gelu"},
      {"mpt", {"MPTForCausalLM", "MptForCausalLM"}, tied | alibi | four_times_hidden, "gelu"},
      {"chatglm", {"ChatGLMModel", "ChatGLMForConditionalGeneration"}, gated | qkv_biased, "silu"},
      {"internlm", {"InternLMForCausalLM"}, gated, "silu"},
      {"internlm2", {"InternLM2ForCausalLM"}, gated, "silu"},
      {"internlm3", {"InternLM3ForCausalLM"}, gated, "silu"},
      {"baichuan", {"BaichuanForCausalLM", "BaiChuanForCausalLM"}, gated, "silu"},
      {"Yi", {"YiForCausalLM"}, gated, "silu"},
      {"stablelm", {"StableLmForCausalLM", "StableLMEpochForCausalLM"}, gated | layer_norm, "silu"},
      {"starcoder2", {"Starcoder2ForCausalLM"}, classic | tied | windows_all, "gelu_tanh"},
      {"cohere", {"CohereForCausalLM"}, gated | tied | parallel | one_norm, "silu"},
      {"cohere2", {"Cohere2ForCausalLM"}, gated | tied | parallel | one_norm | windows_pattern, "silu"},
      {"olmo", {"OlmoForCausalLM"}, gated | no_norm_weights, "silu"},
      {"olmo2", {"Olmo2ForCausalLM"}, gated | wide_norm, "silu"},
      {"olmo3", {"Olmo3ForCausalLM"}, gated | wide_norm, "silu"},
      {"granite", {"GraniteForCausalLM"}, gated, "silu"},
      {"granitemoe", {"GraniteMoeForCausalLM"}, gated | wide_experts, "silu"},
      {"nemotron", {"NemotronForCausalLM"}, layer_norm, "relu2"},
      {"exaone", {"ExaoneForCausalLM"}, gated, "silu"},
      {"glm", {"GlmForCausalLM"}, gated | qkv_biased | bias_spares_o, "silu"},
      {"glm4", {"Glm4ForCausalLM"}, gated | qkv_biased | bias_spares_o | four_norms, "silu"},
      {"glm4_moe", {"Glm4MoeForCausalLM"}, gated | bias_spares_o, "silu"},
      {"minicpm", {"MiniCPMForCausalLM"}, gated | tied, "silu"},
      {"smollm3", {"SmolLM3ForCausalLM"}, gated | tied, "silu"},
      {"ernie4_5", {"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"}, gated | tied, "silu"},
      {"seed_oss", {"SeedOssForCausalLM"}, gated | qkv_biased | bias_spares_o, "silu"},
      {"deepseek_v2", {"DeepseekV2ForCausalLM"}, gated, "silu"},
      {"deepseek_v3", {"DeepseekV3ForCausalLM"}, gated, "silu"},
      {"kimi_k2", {"KimiK2ForCausalLM"}, gated, "silu"},
      {"gpt_oss",
       {"GptOssForCausalLM"},
       gated | qkv_biased | o_biased | expert_biased | sinks | windows_alternate | wide_experts,
       "swiglu"},
      {"llama4_text", {"Llama4ForCausalLM"}, gated | chunks | wide_experts, "silu"},
      {"llama4", {"Llama4ForConditionalGeneration"}, gated | chunks | wide_experts, "silu"},
      {"bert",
       {"BertModel", "BertForMaskedLM", "BertForSequenceClassification"},
       layer_norm | qkv_biased | o_biased | mlp_biased | position_table | bidirectional,
       "gelu"},
  };
  return families;
}

const HfFamily* find_family(const std::string& model_type) {
  const auto& families = hf_families();
  const auto found = std::find_if(families.begin(), families.end(),
                                  [&](const HfFamily& family) { return family.model_type == model_type; });
  return found == families.end() ? nullptr : &*found;
}

const HfFamily* find_family_of_architecture(const std::string& architecture) {
  for (const HfFamily& family : hf_families()) {
    const auto& names = family.architectures;
    if (std::find(names.begin(), names.end(), architecture) != names.end()) return &family;
  }
  return nullptr;
}

std::string refusal_reason(const std::string& name) {
  static const std::vector<std::pair<std::vector<std::string>, std::string>> refused{
      {{"t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "whisper", "blenderbot", "led", "longt5",
        "T5ForConditionalGeneration", "MT5ForConditionalGeneration", "BartForConditionalGeneration",
        "MBartForConditionalGeneration", "WhisperForConditionalGeneration", "PegasusForConditionalGeneration"},
       "is an encoder-decoder; only decoder-only models and BERT encoders are modelled"},
      {{"mamba",
        "mamba2",
        "falcon_mamba",
        "jamba",
        "bamba",
        "zamba",
        "zamba2",
        "rwkv",
        "rwkv5",
        "rwkv6",
        "recurrent_gemma",
        "granitemoehybrid",
        "nemotron_h",
        "minimax",
        "MambaForCausalLM",
        "Mamba2ForCausalLM",
        "JambaForCausalLM",
        "RwkvForCausalLM",
        "BambaForCausalLM",
        "NemotronHForCausalLM"},
       "has state-space or linear-attention layers that are not modelled"},
  };
  for (const auto& [names, reason] : refused) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return reason;
  }
  return {};
}

}  // namespace ridgeline
