#include "models/drafter.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/parameters.hpp"
#include "models/transformer.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

constexpr std::int64_t half = 2;  ///< bytes of a 16-bit element

/// A 16-bit GEMM with `n` outputs on this rank, `copies` of it.
Op dense_op(std::string_view name, std::int64_t rows, std::int64_t n, std::int64_t k, DType type, std::int64_t copies = 1) {
  return {.name = name,
          .shape = GemmShape{.m = rows, .n = n, .k = k, .math = type, .weight = type},
          .repeats = copies,
          .flops = Flops{2.0 * static_cast<double>(rows * n) * static_cast<double>(k)},
          .weight_bytes = Bytes{n * k * half},
          .kv_bytes = {},
          .activation_bytes = Bytes{rows * (n + k) * half}};
}

Op elementwise_op(std::string_view name, ElementwiseFamily family, std::int64_t rows, std::int64_t width, std::int64_t copies) {
  return {.name = name,
          .shape = ElementwiseShape{.family = family, .rows = rows, .width = width},
          .repeats = copies,
          .flops = {},
          .weight_bytes = {},
          .kv_bytes = {},
          .activation_bytes = Bytes{2 * rows * width * half}};
}

/// A decoder with a projection in front.
class ProjectedDecoder final : public WorkModel {
 public:
  ProjectedDecoder(std::unique_ptr<WorkModel> decoder, const DrafterSpec& drafter, int ranks)
      : decoder_(std::move(decoder)),
        outputs_(drafter.model.hidden / ranks),
        inputs_(drafter.projection),
        type_(drafter.model.release_dtype) {}

  [[nodiscard]] std::vector<Op> token_ops(Tokens tokens) const override {
    std::vector<Op> ops = decoder_->token_ops(tokens);
    if (tokens.count() > 0) ops.push_back(dense_op("draft_projection", tokens.count(), outputs_, inputs_, type_));
    return ops;
  }
  [[nodiscard]] std::vector<Op> sampling_ops(std::int64_t sequences) const override { return decoder_->sampling_ops(sequences); }
  void attention_ops(const BatchShape& batch, std::vector<Op>& ops) const override { decoder_->attention_ops(batch, ops); }
  [[nodiscard]] StepWork lower(const BatchShape& batch) const override {
    StepWork work = decoder_->lower(batch);
    const std::int64_t rows = batch.tokens().count();
    if (rows > 0) work.ops.insert(work.ops.begin(), dense_op("draft_projection", rows, outputs_, inputs_, type_));
    return work;
  }

 private:
  std::unique_ptr<WorkModel> decoder_;
  std::int64_t outputs_;
  std::int64_t inputs_;
  DType type_;
};

/// Medusa's heads: nothing per token, everything per sampled row.
class ParallelHeads final : public WorkModel {
 public:
  ParallelHeads(const DrafterSpec& drafter, int ranks)
      : heads_(drafter.heads), hidden_(drafter.model.hidden), vocab_(drafter.model.vocab), ranks_(ranks), type_(drafter.model.release_dtype) {}

  [[nodiscard]] std::vector<Op> token_ops(Tokens) const override { return {}; }
  [[nodiscard]] std::vector<Op> sampling_ops(std::int64_t rows) const override {
    if (rows <= 0) return {};
    return {dense_op("medusa_block", rows, hidden_, hidden_, type_, heads_),
            elementwise_op("medusa_activation", ElementwiseFamily::activation, rows, hidden_, heads_),
            dense_op("medusa_head", rows, ceil_divide<std::int64_t>(vocab_, ranks_), hidden_, type_, heads_),
            elementwise_op("sampling", ElementwiseFamily::sampling, rows, vocab_, heads_)};
  }
  void attention_ops(const BatchShape&, std::vector<Op>& ops) const override { ops.clear(); }
  [[nodiscard]] StepWork lower(const BatchShape& batch) const override { return {sampling_ops(batch.logit_rows())}; }

 private:
  std::int64_t heads_;
  std::int64_t hidden_;
  std::int64_t vocab_;
  std::int64_t ranks_;
  DType type_;
};

/// One layer of `layer`'s kind with full attention, weights in 16 bits.
ModelSpec one_layer(const ModelSpec& target, LayerSpec layer, const std::string& suffix) {
  ModelSpec model = target;
  model.name = target.name + suffix;
  layer.attention = AttentionKind::full;
  layer.window = 0;
  model.layers.assign(1, layer);
  model.draft_layers = 0;
  return model;
}

}  // namespace

DrafterSpec draft_model_drafter(const ModelSpec& target, ModelSpec draft) {
  if (draft.encoder) throw ConfigError(fmt::format("`{}` is an encoder: it drafts nothing", draft.name));
  // Checkpoints of one family pad their vocabularies differently (Qwen2.5: 151,936 and 152,064): the tokens are the same.
  constexpr std::int64_t padding = 512;
  if (std::abs(draft.vocab - target.vocab) > padding) {
    throw ConfigError(fmt::format("`{}` has {} tokens in its vocabulary and `{}` {}: a draft model must share the target's", draft.name,
                                  draft.vocab, target.name, target.vocab));
  }
  return {.method = "draft_model", .model = std::move(draft)};
}

DrafterSpec eagle_drafter(const ModelSpec& target) {
  LayerSpec layer = target.layers.back();
  ModelSpec model = target;
  if (target.moe && target.intermediate > 0) layer.experts = false;
  // Heads are trained and shipped in 16 bits, whatever the target is stored in.
  layer.format = {};
  model = one_layer(target, layer, " EAGLE head");
  return {.method = "eagle", .model = std::move(model), .projection = 2 * target.hidden, .shares_head = true};
}

DrafterSpec eagle3_drafter(const ModelSpec& target, std::int64_t draft_vocab) {
  DrafterSpec drafter = eagle_drafter(target);
  drafter.method = "eagle3";
  drafter.model.name = target.name + " EAGLE-3 head";
  drafter.model.vocab = draft_vocab;
  drafter.model.lm_head_format = 0;
  drafter.model.tied_embeddings = false;
  // fc: 3 hidden states to one; q, k and v read twice the hidden size. Both as one projection of equal weight bytes.
  const LayerSpec& layer = drafter.model.layers.front();
  const std::int64_t wider = (drafter.model.heads + 2 * layer.kv_heads) * layer.head_dim;
  drafter.projection = 3 * target.hidden + wider;
  return drafter;
}

DrafterSpec mtp_drafter(const ModelSpec& target) {
  if (target.draft_layers == 0) {
    throw ConfigError(fmt::format("`{}` has no multi-token-prediction layer; `eagle` puts a trained head on any model", target.name));
  }
  return {.method = "mtp",
          .model = one_layer(target, target.layers.back(), " MTP layer"),
          .projection = 2 * target.hidden,
          .shares_head = true};
}

DrafterSpec medusa_drafter(const ModelSpec& target, std::int64_t heads) {
  DrafterSpec drafter{.method = "medusa", .model = target, .heads = heads};
  drafter.model.name = target.name + " Medusa heads";
  drafter.model.layers.clear();
  drafter.model.draft_layers = 0;
  return drafter;
}

Bytes drafter_weight_bytes(const DrafterSpec& drafter, int tensor_parallel_size) {
  const ModelSpec& model = drafter.model;
  if (!drafter.sequential()) {
    const std::int64_t values = drafter.heads * model.hidden * (model.hidden + ceil_divide<std::int64_t>(model.vocab, tensor_parallel_size));
    return Bytes{values * half};
  }
  const WeightBytes weights = weight_bytes(model, {.tensor_parallel_size = tensor_parallel_size});
  Bytes sum = weights.total() + Bytes{drafter.projection * model.hidden / tensor_parallel_size * half};
  if (drafter.shares_head) sum -= weights.embedding + weights.positions;
  if (drafter.shares_head && drafter.method != "eagle3") sum -= weights.lm_head;
  return sum;
}

std::unique_ptr<WorkModel> make_drafter(const DrafterSpec& drafter, int tensor_parallel_size, const KvFormat& kv) {
  if (!drafter.sequential()) return std::make_unique<ParallelHeads>(drafter, tensor_parallel_size);
  std::unique_ptr<WorkModel> decoder = make_transformer(drafter.model, {.shard = {.tensor_parallel_size = tensor_parallel_size}, .kv = kv});
  if (drafter.projection == 0) return decoder;
  return std::make_unique<ProjectedDecoder>(std::move(decoder), drafter, tensor_parallel_size);
}

}  // namespace ridgeline
