#include "models/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/attention_work.hpp"
#include "models/kv_bytes.hpp"
#include "models/operator_graph.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

/// Experts that at least one of `tokens` picks when each picks `top_k` of `total` evenly.
double experts_touched(const MoeShape& shape, double tokens) {
  const double missed = 1.0 - static_cast<double>(shape.top_k) / static_cast<double>(shape.total_experts);
  return static_cast<double>(shape.experts) * (1.0 - std::pow(missed, tokens));
}

/// Fills in the rows of a template.
struct Instantiate {
  const OpTemplate& op;
  std::int64_t rows;

  Op operator()(GemmShape shape) const {
    shape.m = rows;
    Op result = start(shape);
    result.flops = Flops{2.0 * static_cast<double>(rows) * static_cast<double>(shape.n) * static_cast<double>(shape.k)};
    return result;
  }
  Op operator()(ElementwiseShape shape) const {
    shape.rows = rows;
    return start(shape);
  }
  Op operator()(MoeShape shape) const {
    shape.tokens = rows;
    Op result = start(shape);
    const double tokens = static_cast<double>(rows);
    const double share = static_cast<double>(shape.experts) / static_cast<double>(shape.total_experts);
    const double pairs = tokens * static_cast<double>(shape.top_k) * std::min(1.0, share);
    result.flops = Flops{6.0 * pairs * static_cast<double>(shape.hidden) * static_cast<double>(shape.intermediate)};
    result.weight_bytes = Bytes{std::llround(experts_touched(shape, tokens) * op.weight_bytes.as_double())};
    return result;
  }
  Op operator()(CollectiveShape shape) const {
    shape.bytes = Bytes{op.row_bytes} * rows;
    Op result = start(shape);
    result.activation_bytes = Bytes{0};  // bytes on the wire, not in memory
    return result;
  }
  Op operator()(const AttentionShape&) const { throw InternalError("attention is sized by contexts, not rows"); }

 private:
  [[nodiscard]] Op start(const OpShape& shape) const {
    return {.name = op.name,
            .shape = shape,
            .repeats = op.repeats,
            .flops = {},
            .weight_bytes = op.weight_bytes,
            .kv_bytes = {},
            .activation_bytes = Bytes{op.row_bytes} * rows};
  }
};

class Transformer final : public WorkModel {
 public:
  Transformer(const ModelSpec& model, const TransformerOptions& options)
      : operators_(operators_in_order(model, {options.shard, options.kv, options.expert_skew})),
        chunked_(model.count(AttentionKind::chunked) > 0),
        latent_(model.mla.has_value()) {
    if (latent_) latent_bytes_ = kv_bytes_per_token(model, model.layers.front(), options.kv, 1).count();
    for (const OpTemplate& op : operators_) {
      if (op.rows != RowSource::context) continue;
      const auto same = std::find_if(attention_.begin(), attention_.end(),
                                     [&op](const OpTemplate& other) { return same_attention(op, other); });
      if (same == attention_.end()) {
        attention_.push_back(op);
      } else {
        same->repeats += op.repeats;
      }
    }
  }

  [[nodiscard]] std::vector<Op> token_ops(Tokens tokens) const override {
    return sized(RowSource::tokens, tokens.count());
  }
  [[nodiscard]] std::vector<Op> sampling_ops(std::int64_t sequences) const override {
    return sized(RowSource::sequences, sequences);
  }
  void attention_ops(const BatchShape& batch, std::vector<Op>& ops) const override {
    ops.clear();
    for (const OpTemplate& op : attention_) append_attention(op, batch, ops);
  }
  [[nodiscard]] StepWork lower(const BatchShape& batch) const override {
    StepWork work;
    for (const OpTemplate& op : operators_) {
      if (op.rows == RowSource::context) {
        append_attention(op, batch, work.ops);
        continue;
      }
      const std::int64_t rows = op.rows == RowSource::tokens ? batch.tokens().count() : batch.logit_rows();
      if (rows > 0) work.ops.push_back(std::visit(Instantiate{op, rows}, op.shape));
    }
    return work;
  }

 private:
  static bool same_attention(const OpTemplate& a, const OpTemplate& b) {
    const AttentionShape& x = std::get<AttentionShape>(a.shape);
    const AttentionShape& y = std::get<AttentionShape>(b.shape);
    return a.name == b.name && x.window == y.window && x.kv_heads == y.kv_heads && x.head_dim == y.head_dim;
  }

  [[nodiscard]] std::vector<Op> sized(RowSource source, std::int64_t rows) const {
    std::vector<Op> ops;
    if (rows <= 0) return ops;
    for (const OpTemplate& op : operators_) {
      if (op.rows == source) ops.push_back(std::visit(Instantiate{op, rows}, op.shape));
    }
    return ops;
  }

  [[nodiscard]] Visibility visibility(const AttentionShape& shape) const {
    if (!shape.causal) return Visibility::bidirectional;
    if (shape.window == 0) return Visibility::full;
    return chunked_ ? Visibility::chunked : Visibility::sliding;
  }

  /// Adds the operator unless the batch has nothing for it.
  void append_attention(const OpTemplate& op, const BatchShape& batch, std::vector<Op>& ops) const {
    AttentionShape shape = std::get<AttentionShape>(op.shape);
    const bool decodes = !latent_ || shape.kv_heads == 1;
    const bool prefills = !latent_ || !decodes || shape.query_heads == 1;
    if (decodes) {
      shape.decode_sequences = batch.decode_sequences;
      shape.decode_queries = batch.decode_queries;
      shape.decode_context = shape.window > 0 ? batch.decode_context_in_window : batch.decode_context;
    }
    if (prefills) shape.chunks = batch.chunks;
    if (shape.decode_sequences == 0 && shape.chunks.empty()) return;

    double pairs = 0.0;
    std::int64_t tokens = shape.decode_context.count();
    std::int64_t queries = shape.decode_queries.count();
    if (shape.decode_sequences > 0) {
      // Drafts of one sequence see nearly the same context.
      pairs = shape.decode_context.as_double() * shape.decode_queries.as_double() /
              static_cast<double>(shape.decode_sequences);
    }
    for (const PrefillChunk& chunk : shape.chunks) {
      pairs += query_key_pairs(chunk, visibility(shape), shape.window);
      tokens += visible_tokens(chunk, visibility(shape), shape.window);
      queries += chunk.new_tokens.count();
    }
    // Keys and values are read once and the newest written once: the newest count as written.
    const double per_pair = 2.0 * static_cast<double>(shape.query_heads * (shape.head_dim + shape.value_dim));
    ops.push_back(
        {.name = op.name,
         .shape = shape,
         .repeats = op.repeats,
         .flops = Flops{per_pair * pairs},
         .weight_bytes = {},
         .kv_bytes = shape.causal ? Bytes{std::llround(static_cast<double>(tokens) * token_bytes(shape))} : Bytes{0},
         .activation_bytes = Bytes{op.row_bytes} * queries});
  }

  [[nodiscard]] double token_bytes(const AttentionShape& shape) const {
    if (latent_) return static_cast<double>(latent_bytes_);
    return static_cast<double>(shape.kv_heads * (shape.head_dim + shape.value_dim)) * shape.kv_bits / 8.0;
  }

  std::vector<OpTemplate> operators_;
  std::vector<OpTemplate> attention_;  ///< one per kind
  bool chunked_ = false;
  bool latent_ = false;
  std::int64_t latent_bytes_ = 0;
};

}  // namespace

std::unique_ptr<WorkModel> make_transformer(const ModelSpec& model, const TransformerOptions& options) {
  require_tensor_parallel(model, options.shard.tensor_parallel_size);
  if (model.count(AttentionKind::recurrent) > 0) {
    throw ConfigError(
        fmt::format("`{}` ({}) mixes attention with {} recurrent layers, whose step time is not modelled; "
                    "its memory is (see `ridgeline explain`)",
                    model.name, model.architecture, model.count(AttentionKind::recurrent)));
  }
  return std::make_unique<Transformer>(model, options);
}

}  // namespace ridgeline
