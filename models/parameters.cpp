#include "models/parameters.hpp"

#include <cmath>
#include <string_view>

#include "models/matrices.hpp"

namespace ridgeline {
namespace {

/// Rows the vocabulary is padded to before it is cut (vLLM `vocab_parallel_embedding.py`, DEFAULT_VOCAB_PADDING_SIZE).
constexpr std::int64_t vocab_padding = 64;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_divide(value, multiple) * multiple;
}

Bytes stored(double values, double bits) { return Bytes{static_cast<std::int64_t>(std::ceil(values * bits / 8.0))}; }

/// Grouped MXFP4 kernels want widths in multiples of 64 per rank and the hidden size in multiples of 256, and vLLM pads
/// the stored nibbles, not their scales (`layers/quantization/mxfp4.py`). gpt-oss-120b: 60.8 GiB in the file, 64.4 GiB
/// on one H100.
Bytes padding_bytes(const Matrix& matrix) {
  if (matrix.kind != LinearKind::experts || matrix.format->name != "mxfp4") return Bytes{0};
  const bool down = std::string_view(matrix.name) == "down_proj";
  const std::int64_t n = round_up(matrix.n, down ? 256 : 128);
  const std::int64_t k = round_up(matrix.k, down ? 64 : 256);
  return stored(static_cast<double>(matrix.copies * (n * k - matrix.n * matrix.k)), 4.0);
}

Bytes bytes_of(const std::vector<Matrix>& matrices, const WeightFormat& plain) {
  Bytes sum;
  for (const Matrix& matrix : matrices) {
    sum += padding_bytes(matrix);
    sum += stored(static_cast<double>(matrix.parameters()), matrix.format->bits);
    sum += stored(static_cast<double>(matrix.copies * matrix.n), matrix.format->bits_per_output);
    sum += stored(static_cast<double>(matrix.bias), plain.bits);
  }
  return sum;
}

std::int64_t parameters_of(const std::vector<Matrix>& matrices) {
  std::int64_t sum = 0;
  for (const Matrix& matrix : matrices) sum += matrix.parameters() + matrix.bias;
  return sum;
}

std::int64_t router_parameters(const ModelSpec& model) {
  const MoeSpec& moe = *model.moe;
  return model.hidden * moe.experts + (moe.router_bias ? moe.experts : 0) + (moe.shared_gate ? model.hidden : 0);
}

std::int64_t position_rows(const ModelSpec& model) { return model.learned_positions + model.token_types; }

/// Norms outside the layers: before the head, or after a post-norm encoder's embedding.
std::int64_t outer_norm_parameters(const ModelSpec& model) {
  return model.hidden * norm_values(model) * model.outer_norms;
}

/// Routed experts counted as `experts_of_layer` says; everything else in full.
ParameterCount count(const ModelSpec& model, std::int64_t experts_counted) {
  ParameterCount sum;
  sum.embedding = model.vocab * model.hidden;
  sum.positions = position_rows(model) * model.hidden;
  sum.norms = outer_norm_parameters(model);
  if (!model.tied_embeddings && !model.encoder) sum.lm_head = model.vocab * model.hidden;
  if (model.lm_head_bias) sum.lm_head += model.vocab;
  if (model.pooler) sum.lm_head += model.hidden * model.hidden + model.hidden;
  for (const LayerSpec& layer : model.layers) {
    sum.attention += parameters_of(attention_matrices(model, layer, 1)) + attention_vector_parameters(model, layer, 1);
    sum.norms += model.norms_per_layer * model.hidden * norm_values(model);
    if (layer.experts) {
      sum.experts += parameters_of(expert_matrices(model, layer, {})) / model.moe->experts * experts_counted;
      sum.shared_experts += parameters_of(shared_expert_matrices(model, layer, 1));
      sum.router += router_parameters(model);
    } else {
      sum.mlp += parameters_of(mlp_matrices(model, layer, 1));
    }
  }
  return sum;
}

}  // namespace

ParameterCount count_parameters(const ModelSpec& model) { return count(model, model.moe ? model.moe->experts : 0); }

ParameterCount active_parameters(const ModelSpec& model) { return count(model, model.moe ? model.moe->top_k : 0); }

WeightBytes weight_bytes(const ModelSpec& model, const Shard& shard) {
  const int ranks = shard.tensor_parallel_size;
  const WeightFormat& plain = model.formats.front();
  const auto vectors = [&](std::int64_t values) { return stored(static_cast<double>(values), plain.bits); };
  const std::int64_t vocab_rows = round_up(model.vocab, vocab_padding) / (ranks > 1 ? ranks : 1);
  const double table = static_cast<double>((ranks > 1 ? vocab_rows : model.vocab) * model.hidden);

  WeightBytes sum;
  if (shard.has_embedding()) {
    sum.embedding = stored(table, model.formats[model.embedding_format].bits);
    sum.positions = vectors(position_rows(model) * model.hidden);
  }
  if (shard.has_head(model)) {
    sum.norms = vectors(outer_norm_parameters(model));
    // A tied table is stored once, but the last of several stages needs its own copy.
    const bool own_head = !model.encoder && (!model.tied_embeddings || !shard.has_embedding());
    if (own_head) sum.lm_head = stored(table, model.formats[model.lm_head_format].bits);
    if (model.lm_head_bias) sum.lm_head += vectors(model.vocab / ranks);
    if (model.pooler) sum.lm_head += vectors(model.hidden * model.hidden + model.hidden);
  }
  for (std::int64_t index = shard.first_layer; index < shard.end(model); ++index) {
    const LayerSpec& layer = model.layers[static_cast<std::size_t>(index)];
    sum.attention += bytes_of(attention_matrices(model, layer, ranks), plain) +
                     vectors(attention_vector_parameters(model, layer, ranks));
    sum.norms += vectors(model.norms_per_layer * model.hidden * norm_values(model));
    if (layer.experts) {
      sum.experts += bytes_of(expert_matrices(model, layer, shard), plain);
      sum.shared_experts += bytes_of(shared_expert_matrices(model, layer, ranks), plain);
      sum.router += vectors(router_parameters(model));
    } else {
      sum.mlp += bytes_of(mlp_matrices(model, layer, ranks), plain);
    }
  }
  return sum;
}

Flops linear_flops_per_token(const ModelSpec& model) {
  double weights = static_cast<double>(model.encoder ? 0 : model.vocab * model.hidden);
  for (const LayerSpec& layer : model.layers) {
    for (const Matrix& matrix : attention_matrices(model, layer, 1))
      weights += static_cast<double>(matrix.parameters());
    if (!layer.experts) {
      for (const Matrix& matrix : mlp_matrices(model, layer, 1)) weights += static_cast<double>(matrix.parameters());
      continue;
    }
    for (const Matrix& matrix : expert_matrices(model, layer, {})) {
      weights += static_cast<double>(matrix.n * matrix.k * model.moe->top_k);
    }
    for (const Matrix& matrix : shared_expert_matrices(model, layer, 1)) {
      weights += static_cast<double>(matrix.parameters());
    }
    weights += static_cast<double>(model.hidden * model.moe->experts);
  }
  return Flops{2.0 * weights};
}

}  // namespace ridgeline
