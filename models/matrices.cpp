#include "models/matrices.hpp"

namespace ridgeline {
namespace {

/// MLA (DeepSeek-V2): the down-projections to the latents are whole on every rank, the up-projections are cut by heads.
std::vector<Matrix> latent_matrices(const ModelSpec& model, const LayerSpec& layer, std::int64_t ranks) {
  const MlaSpec& mla = *model.mla;
  const WeightFormat* qkv = &model.format(layer, LinearKind::qkv);
  const WeightFormat* o = &model.format(layer, LinearKind::o);
  const std::int64_t heads = model.heads / ranks;
  const std::int64_t query = heads * (mla.nope_dim + mla.rope_dim);
  std::vector<Matrix> list;
  if (mla.q_rank > 0) {
    list.push_back({LinearKind::qkv, "q_a_proj", mla.q_rank, model.hidden, 1, 0, qkv});
    list.push_back({LinearKind::qkv, "q_b_proj", query, mla.q_rank, 1, 0, qkv});
  } else {
    list.push_back({LinearKind::qkv, "q_proj", query, model.hidden, 1, 0, qkv});
  }
  list.push_back({LinearKind::qkv, "kv_a_proj", mla.kv_rank + mla.rope_dim, model.hidden, 1, 0, qkv});
  list.push_back({LinearKind::qkv, "kv_b_proj", heads * (mla.nope_dim + mla.value_dim), mla.kv_rank, 1, 0, qkv});
  list.push_back({LinearKind::o, "o_proj", model.hidden, heads * mla.value_dim, 1, 0, o});
  return list;
}

/// Gated delta net (Qwen3-Next `linear_attn`): one projection to q, k, v and the gate z, one to beta and decay, one
/// out.
std::vector<Matrix> recurrent_matrices(const ModelSpec& model, const LayerSpec& layer, std::int64_t ranks) {
  const RecurrentSpec& mixer = *model.recurrent;
  const WeightFormat* qkv = &model.format(layer, LinearKind::qkv);
  const WeightFormat* o = &model.format(layer, LinearKind::o);
  const std::int64_t keys = mixer.key_heads * mixer.key_dim / ranks;
  const std::int64_t values = mixer.value_heads * mixer.value_dim / ranks;
  return {{LinearKind::qkv, "in_proj_qkvz", 2 * keys + 2 * values, model.hidden, 1, 0, qkv},
          {LinearKind::qkv, "in_proj_ba", 2 * mixer.value_heads / ranks, model.hidden, 1, 0, qkv},
          {LinearKind::o, "out_proj", model.hidden, values, 1, 0, o}};
}

std::vector<Matrix> gated_pair(const ModelSpec& model, const LayerSpec& layer, LinearKind up, LinearKind down,
                               std::int64_t width, std::int64_t copies, bool bias) {
  const std::int64_t columns = (model.gated_mlp ? 2 : 1) * width;
  return {
      {up, model.gated_mlp ? "gate_up_proj" : "up_proj", columns, model.hidden, copies, bias ? copies * columns : 0,
       &model.format(layer, up)},
      {down, "down_proj", model.hidden, width, copies, bias ? copies * model.hidden : 0, &model.format(layer, down)}};
}

}  // namespace

std::vector<Matrix> attention_matrices(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size) {
  const std::int64_t ranks = tensor_parallel_size;
  if (layer.attention == AttentionKind::recurrent) return recurrent_matrices(model, layer, ranks);
  if (model.mla) return latent_matrices(model, layer, ranks);
  const std::int64_t queries = model.heads / ranks * layer.head_dim;
  // A gate per query value doubles the query projection (Qwen3-Next).
  const std::int64_t query_columns = model.attention_gate ? 2 * queries : queries;
  const std::int64_t kv = 2 * kv_heads_per_gpu(layer.kv_heads, ranks) * layer.head_dim;
  return {{LinearKind::qkv, "qkv_proj", query_columns + kv, model.hidden, 1, model.qkv_bias ? query_columns + kv : 0,
           &model.format(layer, LinearKind::qkv)},
          {LinearKind::o, "o_proj", model.hidden, queries, 1, model.o_bias ? model.hidden : 0,
           &model.format(layer, LinearKind::o)}};
}

std::vector<Matrix> mlp_matrices(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size) {
  return gated_pair(model, layer, LinearKind::gate_up, LinearKind::down, model.intermediate / tensor_parallel_size, 1,
                    model.mlp_bias);
}

std::vector<Matrix> expert_matrices(const ModelSpec& model, const LayerSpec& layer, const Shard& shard) {
  const MoeSpec& moe = *model.moe;
  const bool whole = shard.expert_parallel_size > 1;
  const std::int64_t experts = whole ? ceil_divide<std::int64_t>(moe.experts, shard.expert_parallel_size) : moe.experts;
  const std::int64_t width =
      whole ? moe.intermediate : ceil_divide<std::int64_t>(moe.intermediate, shard.tensor_parallel_size);
  return gated_pair(model, layer, LinearKind::experts, LinearKind::experts, width, experts, moe.expert_bias);
}

std::vector<Matrix> shared_expert_matrices(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size) {
  const std::int64_t width = model.moe->shared_experts * model.moe->shared_intermediate / tensor_parallel_size;
  if (width == 0) return {};
  return gated_pair(model, layer, LinearKind::shared_experts, LinearKind::shared_experts, width, 1, false);
}

std::int64_t attention_vector_parameters(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size) {
  const std::int64_t ranks = tensor_parallel_size;
  if (layer.attention == AttentionKind::recurrent) {
    const RecurrentSpec& mixer = *model.recurrent;
    const std::int64_t channels = 2 * mixer.key_heads * mixer.key_dim + mixer.value_heads * mixer.value_dim;
    return (channels * mixer.convolution + 2 * mixer.value_heads) / ranks +
           mixer.value_dim;  // taps, decay and dt, norm
  }
  if (model.mla) return model.mla->q_rank + model.mla->kv_rank;
  std::int64_t values = model.attention_sinks ? model.heads / ranks : 0;
  if (model.qk_norm == QkNorm::per_head) values += 2 * layer.head_dim;
  if (model.qk_norm == QkNorm::whole) values += (model.heads + layer.kv_heads) * layer.head_dim;
  return values;
}

}  // namespace ridgeline
