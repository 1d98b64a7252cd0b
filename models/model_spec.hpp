// What a language model is made of: everything that decides its work and its memory, nothing about hardware.
//
// A decoder-only transformer (dense or mixture of experts, grouped-query or latent attention, full, sliding or chunked
// windows, recurrent layers in hybrids) or a bidirectional encoder. No field has a default dimension: specs come from
// the catalog or from a checkpoint's config.json, and a number that is missing there is an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/dtype.hpp"

namespace ridgeline {

/// How the weights of a linear layer are stored and multiplied.
struct WeightFormat {
  std::string name;  ///< "bf16", "fp8", "awq", …
  DType storage = DType::bf16;
  DType math = DType::bf16;      ///< type the tensor cores multiply in; wider than `storage` = weight-only quantisation
  double bits = 16.0;            ///< per weight, group or block scales and zero points included
  double bits_per_output = 0.0;  ///< per output channel (per-channel scales)
  bool quantises_input = false;  ///< activations are quantised on the fly before the GEMM

  friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

/// The kinds of matrices in a layer that may be stored in different formats.
enum class LinearKind : std::uint8_t { qkv, o, gate_up, down, experts, shared_experts };
inline constexpr std::size_t linear_kinds = 6;

enum class AttentionKind : std::uint8_t {
  full,       ///< every earlier token
  sliding,    ///< the last `window` tokens
  chunked,    ///< tokens of the same `window`-token chunk (Llama 4)
  recurrent,  ///< a fixed state instead of a growing cache (gated delta net, Mamba)
};

/// Learned norm of queries and keys.
enum class QkNorm : std::uint8_t {
  none,
  per_head,  ///< one vector of head_dim, shared by the heads (Qwen3, Gemma 3)
  whole,     ///< over all heads together (OLMo 2)
};

/// One layer. Heads and widths are stated per layer because hybrids vary them (Gemma 4).
struct LayerSpec {
  AttentionKind attention = AttentionKind::full;
  std::int64_t window = 0;                          ///< tokens; 0 for full and recurrent
  std::int64_t kv_heads = 0;                        ///< 0 for recurrent
  std::int64_t head_dim = 0;                        ///< 0 for recurrent
  bool experts = false;                             ///< routed experts instead of a dense MLP
  std::array<std::uint8_t, linear_kinds> format{};  ///< index into ModelSpec::formats, by LinearKind

  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

/// Routed experts.
struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t intermediate = 0;         ///< width of one expert
  std::int64_t shared_experts = 0;       ///< run for every token
  std::int64_t shared_intermediate = 0;  ///< width of one shared expert
  bool router_bias = false;
  bool shared_gate = false;  ///< one logit per token scales the shared expert (Qwen2-MoE)
  bool expert_bias = false;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): one latent and one rope key per token instead of K and
/// V.
struct MlaSpec {
  std::int64_t q_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;
  std::int64_t rope_dim = 0;
  std::int64_t value_dim = 0;
};

/// Gated delta net (Qwen3-Next): the recurrent layers of a hybrid.
struct RecurrentSpec {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t convolution = 0;  ///< kernel length of the causal convolution
};

struct ModelSpec {
  std::string name;          ///< catalog name or path
  std::string architecture;  ///< e.g. "LlamaForCausalLM"

  std::int64_t hidden = 0;
  std::int64_t heads = 0;         ///< query heads
  std::int64_t intermediate = 0;  ///< of the dense MLP; 0 when every layer has experts
  std::int64_t vocab = 0;
  std::int64_t max_model_len = 0;  ///< tokens, after the rope rules
  std::vector<LayerSpec> layers;

  bool gated_mlp = true;  ///< gate, up and down instead of up and down
  std::string activation;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool lm_head_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool attention_gate = false;   ///< a sigmoid gate on the attention output, projected with the queries (Qwen3-Next)
  bool attention_sinks = false;  ///< one learned logit per head (gpt-oss)
  bool layer_norm = false;       ///< LayerNorm (scale and shift) instead of RMSNorm
  int norms_per_layer = 2;
  int outer_norms = 1;           ///< before the head (decoders), after the embedding (BERT), or both (BLOOM)
  bool parallel_blocks = false;  ///< attention and MLP read the same input: one all-reduce a layer (GPT-J, Falcon)
  bool rotary = true;
  std::int64_t learned_positions = 0;  ///< rows of a position table
  std::int64_t token_types = 0;        ///< rows of a segment table (BERT)
  bool encoder = false;                ///< bidirectional, no KV cache, one pass per request
  bool pooler = false;                 ///< hidden x hidden layer on the first token (BERT)

  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  std::optional<RecurrentSpec> recurrent;
  std::int64_t draft_layers = 0;  ///< multi-token-prediction layers in the checkpoint, not loaded by default

  DType release_dtype = DType::bf16;  ///< of activations and unquantised weights
  std::vector<WeightFormat> formats;  ///< [0] = release_dtype, [1…] what quantised modules use
  std::uint8_t lm_head_format = 0;
  std::uint8_t embedding_format = 0;
  std::string quantization = "none";    ///< vLLM's name of the checkpoint's method
  std::string kv_cache_dtype = "auto";  ///< what the checkpoint asks for

  std::vector<std::string> sources;  ///< where the numbers come from
  std::vector<std::string> notes;    ///< what was left out ("vision tower not sized")

  [[nodiscard]] const WeightFormat& format(const LayerSpec& layer, LinearKind kind) const {
    return formats[layer.format[static_cast<std::size_t>(kind)]];
  }
  [[nodiscard]] std::int64_t layer_count() const { return static_cast<std::int64_t>(layers.size()); }
  /// Layers of one kind.
  [[nodiscard]] std::int64_t count(AttentionKind kind) const;
  /// Tokens of the model's window (a chunk's length bounds what its tokens see), 0 when it has none. Models have at
  /// most one.
  [[nodiscard]] std::int64_t sliding_window() const;
};

/// A catalog name, or the path of a Hugging Face `config.json` (or a folder that holds one). Throws ConfigError:
/// unknown name (with near matches), or whatever is wrong with the file, all at once.
ModelSpec load_model(const std::string& name_or_path);

/// Names in the catalog, sorted.
std::vector<std::string> model_names();

}  // namespace ridgeline
