#include "models/operator_graph.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

#include "models/matrices.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, OpTemplate>;
using Node = Graph::vertex_descriptor;

constexpr std::int64_t half = 2;  ///< bytes of a 16-bit element

/// Tensors of 16 bits that each kernel reads and writes, per element of its width.
constexpr std::int64_t bytes_per_element(ElementwiseFamily family) {
  switch (family) {
    case ElementwiseFamily::residual_norm: return 4 * half;
    case ElementwiseFamily::gated_activation:
    case ElementwiseFamily::add: return 3 * half;
    case ElementwiseFamily::quantise: return 3;
    case ElementwiseFamily::sampling: return half;
    case ElementwiseFamily::norm:
    case ElementwiseFamily::layer_norm:
    case ElementwiseFamily::rope:
    case ElementwiseFamily::activation:
    case ElementwiseFamily::embedding: return 2 * half;
  }
  return 0;
}

/// Kernels of their own multiply block-scaled fp8 (DeepSeek's format); `hf_quantization.cpp` gives it this name.
bool is_block_scaled(const WeightFormat& format) { return format.name == "fp8_block"; }

/// Adds nodes in a chain by default; `from` names another source for parallel branches.
class Builder {
 public:
  Builder(const ModelSpec& model, const OperatorGraphOptions& options)
      : model_(model), options_(options), ranks_(options.shard.tensor_parallel_size) {}

  std::vector<OpTemplate> run() {
    embed();
    for (const Block& block : blocks()) add_block(block);
    finish();
    std::vector<Node> order;
    try {
      boost::topological_sort(graph_, std::back_inserter(order));  // last operator first
    } catch (const boost::not_a_dag&) {
      throw InternalError("the operators of `" + model_.name + "` form a cycle");
    }
    std::vector<OpTemplate> list;
    for (auto node = order.rbegin(); node != order.rend(); ++node) list.push_back(graph_[*node]);
    return list;
  }

 private:
  /// Layers alike in everything.
  struct Block {
    const LayerSpec* layer = nullptr;
    std::int64_t repeats = 0;
  };

  [[nodiscard]] std::vector<Block> blocks() const {
    std::vector<Block> list;
    for (std::int64_t i = options_.shard.first_layer; i < options_.shard.end(model_); ++i) {
      const LayerSpec& layer = model_.layers[static_cast<std::size_t>(i)];
      const auto same =
          std::find_if(list.begin(), list.end(), [&](const Block& block) { return *block.layer == layer; });
      if (same == list.end()) {
        list.push_back({&layer, 1});
      } else {
        ++same->repeats;
      }
    }
    return list;
  }

  Node add(OpTemplate op, std::initializer_list<Node> sources) {
    op.repeats = repeats_;
    const Node node = boost::add_vertex(std::move(op), graph_);
    for (const Node source : sources) boost::add_edge(source, node, graph_);
    return node;
  }
  /// After the last operator, which it becomes.
  void then(OpTemplate op) { last_ = last_ ? add(std::move(op), {*last_}) : add(std::move(op), {}); }

  [[nodiscard]] static OpTemplate elementwise(std::string_view name, ElementwiseFamily family, std::int64_t width,
                                              std::int64_t weight_values = 0, RowSource rows = RowSource::tokens) {
    return {.name = name,
            .rows = rows,
            .shape = ElementwiseShape{.family = family, .rows = 0, .width = width},
            .weight_bytes = Bytes{weight_values * half},
            .row_bytes = bytes_per_element(family) * width};
  }
  [[nodiscard]] OpTemplate norm(std::string_view name, ElementwiseFamily family,
                                RowSource rows = RowSource::tokens) const {
    const std::int64_t values = model_.norms_per_layer == 0 ? 0 : model_.hidden * norm_values(model_);
    return elementwise(name, family, model_.hidden, values, rows);
  }

  [[nodiscard]] static OpTemplate gemm(std::string_view name, const Matrix& matrix,
                                       RowSource rows = RowSource::tokens) {
    const WeightFormat& format = *matrix.format;
    const double weight_bits = format.bits + format.bits_per_output / static_cast<double>(matrix.k);
    const double bytes = std::ceil(static_cast<double>(matrix.parameters()) * weight_bits / 8.0);
    const std::int64_t input_bits = format.quantises_input ? bits(format.math) : 8 * half;
    return {.name = name,
            .rows = rows,
            .shape = GemmShape{.m = 0,
                               .n = matrix.n,
                               .k = matrix.k,
                               .math = format.math,
                               .weight = format.storage,
                               .weight_bits = weight_bits,
                               .quantises_input = format.quantises_input,
                               .block_scaled = is_block_scaled(format)},
            .weight_bytes = Bytes{static_cast<std::int64_t>(bytes) + matrix.bias * half},
            .row_bytes = matrix.k * input_bits / 8 + matrix.n * half};
  }

  [[nodiscard]] OpTemplate collective(std::string_view name, CollectiveKind kind, std::int64_t row_bytes, int ranks,
                                      RowSource rows = RowSource::tokens) const {
    return {.name = name,
            .rows = rows,
            .shape = CollectiveShape{.kind = kind, .bytes = {}, .ranks = ranks},
            .row_bytes = row_bytes};
  }
  void all_reduce(std::string_view name) {
    if (ranks_ > 1) then(collective(name, CollectiveKind::all_reduce, model_.hidden * half, ranks_));
  }

  void embed() {
    if (!options_.shard.has_embedding()) {
      // A stage receives hidden state and residual, each rank its slice, and gathers them.
      if (ranks_ > 1)
        then(collective("all_gather_stage", CollectiveKind::all_gather, 2 * model_.hidden * half, ranks_));
      return;
    }
    then(elementwise("embedding", ElementwiseFamily::embedding, model_.hidden));
    all_reduce("all_reduce_embedding");
    if (model_.learned_positions > 0) then(elementwise("position_embedding", ElementwiseFamily::add, model_.hidden));
    if (model_.encoder) then(norm("embedding_norm", ElementwiseFamily::norm));
  }

  void add_block(const Block& block) {
    repeats_ = block.repeats;
    const LayerSpec& layer = *block.layer;
    if (!model_.encoder) then(norm("input_norm", ElementwiseFamily::residual_norm));
    const std::optional<Node> normed = last_;
    attend(layer);
    if (model_.parallel_blocks) {
      // The MLP reads what attention read; one all-reduce takes both.
      const std::optional<Node> attention = last_;
      last_ = normed;
      if (model_.norms_per_layer == 2) then(norm("mlp_norm", ElementwiseFamily::norm));
      feed_forward(layer);
      last_ = add(elementwise("add_branches", ElementwiseFamily::add, model_.hidden), {*attention, *last_});
      all_reduce("all_reduce_layer");
    } else {
      all_reduce("all_reduce_attention");
      if (model_.norms_per_layer == 4) then(norm("attention_out_norm", ElementwiseFamily::norm));
      then(norm("post_attention_norm", ElementwiseFamily::residual_norm));
      feed_forward(layer);
      all_reduce("all_reduce_mlp");
      if (model_.norms_per_layer == 4) then(norm("mlp_out_norm", ElementwiseFamily::norm));
      if (model_.encoder) then(norm("output_norm", ElementwiseFamily::residual_norm));
    }
    repeats_ = 1;
  }

  void attend(const LayerSpec& layer) {
    const std::vector<Matrix> matrices = attention_matrices(model_, layer, ranks_);
    const std::int64_t heads = model_.heads / ranks_;
    const std::int64_t kv_heads = kv_heads_per_gpu(layer.kv_heads, ranks_);
    for (const Matrix& matrix : matrices) {
      if (matrix.kind == LinearKind::o) continue;
      then(gemm(matrix.name, matrix));
      if (model_.mla && std::string_view(matrix.name) == "q_a_proj") latent_norm("q_a_norm", model_.mla->q_rank);
      if (model_.mla && std::string_view(matrix.name) == "kv_a_proj") latent_norm("kv_a_norm", model_.mla->kv_rank);
    }
    const std::int64_t width = (heads + kv_heads) * layer.head_dim;
    if (model_.qk_norm != QkNorm::none) {
      then(elementwise("qk_norm", ElementwiseFamily::norm, width, attention_vector_parameters(model_, layer, ranks_)));
    }
    if (model_.rotary) {
      const std::int64_t rotated = model_.mla ? (heads + 1) * model_.mla->rope_dim : width;
      then(elementwise("rope", ElementwiseFamily::rope, rotated));
    }
    if (model_.mla) {
      latent_attention();
    } else {
      then(attention(layer, heads, kv_heads));
    }
    then(gemm(matrices.back().name, matrices.back()));
  }

  void latent_norm(std::string_view name, std::int64_t rank) {
    then(elementwise(name, ElementwiseFamily::norm, rank, rank));
  }

  [[nodiscard]] OpTemplate attention(const LayerSpec& layer, std::int64_t heads, std::int64_t kv_heads) const {
    const bool windowed = layer.window > 0;
    return {.name = windowed ? "attention_window" : "attention",
            .rows = RowSource::context,
            .shape = AttentionShape{.query_heads = heads,
                                    .kv_heads = kv_heads,
                                    .head_dim = layer.head_dim,
                                    .value_dim = layer.head_dim,
                                    .window = layer.window,
                                    .causal = !model_.encoder,
                                    .kv = options_.kv.type,
                                    .kv_bits = options_.kv.bits},
            .row_bytes = 2 * heads * layer.head_dim * half};
  }

  /// Decoding attends to the latents themselves (576 wide, values the first 512); a prompt's chunk to keys and values
  /// expanded per head (vLLM `attention/backends/mla`).
  void latent_attention() {
    const MlaSpec& mla = *model_.mla;
    const std::int64_t heads = model_.heads / ranks_;
    AttentionShape decode{.query_heads = heads,
                          .kv_heads = 1,
                          .head_dim = mla.kv_rank + mla.rope_dim,
                          .value_dim = mla.kv_rank,
                          .kv = options_.kv.type,
                          .kv_bits = options_.kv.bits};
    AttentionShape prefill = decode;
    prefill.kv_heads = heads;
    prefill.head_dim = mla.nope_dim + mla.rope_dim;
    prefill.value_dim = mla.value_dim;
    then({.name = "attention_latent_decode",
          .rows = RowSource::context,
          .shape = decode,
          .row_bytes = heads * (decode.head_dim + decode.value_dim) * half});
    then({.name = "attention_latent_prefill",
          .rows = RowSource::context,
          .shape = prefill,
          .row_bytes = heads * (prefill.head_dim + prefill.value_dim) * half});
  }

  void feed_forward(const LayerSpec& layer) {
    if (!layer.experts) {
      dense(mlp_matrices(model_, layer, ranks_), "activation");
      return;
    }
    const Node input = *last_;
    const MoeSpec& moe = *model_.moe;
    const std::int64_t router_bias = moe.router_bias ? moe.experts : 0;
    then(gemm("router",
              {LinearKind::experts, "router", moe.experts, model_.hidden, 1, router_bias, &model_.formats.front()}));
    then(routed_experts(layer));
    const std::vector<Matrix> shared = shared_expert_matrices(model_, layer, ranks_);
    if (shared.empty()) return;
    const Node routed = *last_;
    last_ = input;
    dense(shared, "shared_activation");
    last_ = add(elementwise("add_shared", ElementwiseFamily::add, model_.hidden), {routed, *last_});
  }

  void dense(const std::vector<Matrix>& matrices, std::string_view activation) {
    const bool shared = matrices.front().kind == LinearKind::shared_experts;
    then(gemm(shared ? "shared_gate_up_proj" : matrices.front().name, matrices.front()));
    const ElementwiseFamily family =
        model_.gated_mlp ? ElementwiseFamily::gated_activation : ElementwiseFamily::activation;
    then(elementwise(activation, family, matrices.back().k));
    then(gemm(shared ? "shared_down_proj" : "down_proj", matrices.back()));
  }

  [[nodiscard]] OpTemplate routed_experts(const LayerSpec& layer) const {
    const MoeSpec& moe = *model_.moe;
    const std::vector<Matrix> matrices = expert_matrices(model_, layer, options_.shard);
    const WeightFormat& format = *matrices.front().format;
    double bytes = 0.0;
    for (const Matrix& matrix : matrices) {
      bytes += static_cast<double>(matrix.n * matrix.k) * format.bits / 8.0 +
               static_cast<double>(matrix.n) * format.bits_per_output / 8.0 +
               static_cast<double>(matrix.bias / matrix.copies * half);
    }
    return {.name = "experts",
            .rows = RowSource::tokens,
            .shape = MoeShape{.tokens = 0,
                              .hidden = model_.hidden,
                              .intermediate = matrices.back().k,
                              .experts = matrices.front().copies,
                              .total_experts = moe.experts,
                              .top_k = moe.top_k,
                              .math = format.math,
                              .weight = format.storage,
                              .weight_bits = format.bits + format.bits_per_output / static_cast<double>(model_.hidden),
                              .block_scaled = is_block_scaled(format),
                              .skew = options_.expert_skew},
            .weight_bytes = Bytes{static_cast<std::int64_t>(std::ceil(bytes))},
            .row_bytes = 2 * model_.hidden * half};
  }

  void finish() {
    if (!options_.shard.has_head(model_)) {
      const std::int64_t slice = 2 * model_.hidden * half / ranks_;
      then(collective("send_stage", CollectiveKind::send_recv, slice, 2));
      return;
    }
    const Matrix pooler{LinearKind::o,          "pooler", model_.hidden, model_.hidden, 1, model_.hidden,
                        &model_.formats.front()};
    if (model_.encoder) {
      if (model_.pooler) then(gemm("pooler", pooler, RowSource::sequences));
      return;
    }
    then(norm("final_norm", ElementwiseFamily::residual_norm, RowSource::sequences));
    const std::int64_t columns = ranks_ > 1 ? ceil_divide<std::int64_t>(model_.vocab, 64) * 64 / ranks_ : model_.vocab;
    const std::uint8_t format = model_.tied_embeddings ? model_.embedding_format : model_.lm_head_format;
    const std::int64_t bias = model_.lm_head_bias ? columns : 0;
    then(gemm("lm_head", {LinearKind::o, "lm_head", columns, model_.hidden, 1, bias, &model_.formats[format]},
              RowSource::sequences));
    if (ranks_ > 1) {
      then(collective("all_gather_logits", CollectiveKind::all_gather, columns * ranks_ * half, ranks_,
                      RowSource::sequences));
    }
    then(elementwise("sampling", ElementwiseFamily::sampling, model_.vocab, 0, RowSource::sequences));
  }

  const ModelSpec& model_;
  const OperatorGraphOptions& options_;
  int ranks_;
  Graph graph_;
  std::optional<Node> last_;
  std::int64_t repeats_ = 1;
};

}  // namespace

std::vector<OpTemplate> operators_in_order(const ModelSpec& model, const OperatorGraphOptions& options) {
  return Builder(model, options).run();
}

}  // namespace ridgeline
