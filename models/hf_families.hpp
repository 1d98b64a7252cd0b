// What a model family implies beyond the numbers in its config.json: which biases and norms exist, what ties the
// embedding, how its MLP is built. One row per `model_type`.
//
// Read from the modelling files of Hugging Face transformers 4.57 and vLLM 0.11. A family without a row is refused by
// name: a guess would be priced as confidently as a fact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline {

/// Properties of a family, or-ed together. Where config.json states one (tie_word_embeddings, attention_bias, …), it
/// wins.
namespace hf_trait {
enum Trait : std::uint32_t {
  gated = 1u << 0,       ///< gate, up and down
  tied = 1u << 1,        ///< embeddings tied when the file does not say
  layer_norm = 1u << 2,  ///< scale and shift
  qkv_biased = 1u << 3,
  o_biased = 1u << 4,
  mlp_biased = 1u << 5,
  head_biased = 1u << 6,
  head_norm = 1u << 7,   ///< qk norm per head
  wide_norm = 1u << 8,   ///< qk norm over all heads
  four_norms = 1u << 9,  ///< before and after both blocks
  one_norm = 1u << 10,   ///< shared by attention and MLP
  parallel = 1u << 11,   ///< attention and MLP side by side
  position_table = 1u << 12,
  alibi = 1u << 13,               ///< no rotary embedding
  four_times_hidden = 1u << 14,   ///< MLP width 4 x hidden when the file gives none
  position_offset = 1u << 15,     ///< OPT: two more position rows than positions
  embedding_norm = 1u << 16,      ///< BLOOM
  halved_mlp = 1u << 17,          ///< Qwen-1: intermediate_size counts gate and up together
  windows_all = 1u << 18,         ///< `sliding_window` applies to every layer
  windows_alternate = 1u << 19,   ///< even layers slide
  windows_pattern = 1u << 20,     ///< all but every n-th slide (`sliding_window_pattern`, 6 unless given)
  windows_on_request = 1u << 21,  ///< only with `use_sliding_window: true`, from layer `max_window_layers` on
  chunks = 1u << 22,              ///< Llama 4
  recurrent_mix = 1u << 23,       ///< Qwen3-Next: all but every n-th layer are gated delta nets
  sinks = 1u << 24,
  expert_biased = 1u << 25,
  shared_gated = 1u << 26,
  bias_spares_o = 1u << 27,    ///< `attention_bias` means Q, K and V only
  no_norm_weights = 1u << 28,  ///< OLMo
  bidirectional = 1u << 29,
  output_gated = 1u << 30,  ///< Qwen3-Next attention
  wide_experts = 1u << 31,  ///< `intermediate_size` is the width of one expert
};
}  // namespace hf_trait

struct HfFamily {
  std::string model_type;
  std::vector<std::string> architectures;
  std::uint32_t traits = 0;
  std::string activation;

  [[nodiscard]] bool has(hf_trait::Trait trait) const { return (traits & trait) != 0; }
};

const std::vector<HfFamily>& hf_families();
/// By `model_type`, or by one of the architecture names; nullptr when there is no row.
const HfFamily* find_family(const std::string& model_type);
const HfFamily* find_family_of_architecture(const std::string& architecture);
/// Why a known architecture is refused ("encoder-decoder", …), or "".
std::string refusal_reason(const std::string& model_type_or_architecture);

}  // namespace ridgeline
