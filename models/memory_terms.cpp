#include "models/memory_terms.hpp"

#include <algorithm>
#include <cmath>

#include "models/matrices.hpp"

namespace ridgeline {
namespace {

// Fitted constants; seven in all.
//
// Bytes per logit of the sampler's warm-up. PyTorch: 38.4 fits seven logs within 0.5 % (vLLM 0.11.0, H100, 1024
// sequences: Llama-3.1-8B 4.76, Llama-3.3-70B 4.84, Qwen3-0.6B 5.56, Qwen3-32B 5.64, gpt-oss 7.38 GiB; V0 with
// 256: 1.19, 1.40 GiB). It is the fp32 copy, the sorted values, their 64-bit indices and the sort's scratch.
// FlashInfer: 10 = 16-bit logits, fp32 copy and fp32 probabilities (vLLM 0.10.1.1, A100, Qwen2-7B: 0.55 GiB in all with
// 256 sequences).
constexpr double pytorch_bytes_per_logit = 38.4;
constexpr double flashinfer_bytes_per_logit = 10.0;

// What does not pass through PyTorch's allocator: 0.13 GiB on one H100 (vLLM 0.11.0), and communication buffers with
// tensor parallelism, 0.1 GiB (A100 TP2, 0.10.1.1) to 0.5 GiB (H100 TP2, 0.15.1). V0 on a 3090: 0.35 GiB
// (vllm-project/vllm#10517).
constexpr double non_torch_gib = 0.13;
constexpr double communication_gib = 0.3;
// Ranks on several nodes (Ray, A100 TP2): about 0.8 GiB more.
constexpr double network_gib = 0.8;
constexpr double v0_non_torch_gib = 0.35;

// CUDA graphs as estimated before the cache is allocated: what is left of the RTX 4090 log of vLLM 0.19 (5.06 GiB of
// KV; casys-kaist/LLMServingSim#59) after the terms above.
constexpr double graph_gib = 0.65;

// Where this misses: multimodal models, whose encoder cache replaces the sampler as the peak (Mistral-Small-3.2 on an
// H100: 2.12 GiB logged, 4.9 here); V0 before 2024 with xformers, whose attention took several GiB at long prompts
// (16k: 6.5 GiB logged, 1.4 here).

Bytes gib(double value) { return Bytes{std::llround(value * 1073741824.0)}; }

/// Elements per token of the widest inner stage of one layer.
std::int64_t stage_width(const ModelSpec& model, const LayerSpec& layer, const Shard& shard) {
  const std::vector<Matrix> attention = attention_matrices(model, layer, shard.tensor_parallel_size);
  std::int64_t attend = attention.back().k;
  for (std::size_t i = 0; i + 1 < attention.size(); ++i) attend += attention[i].n;
  if (!layer.experts) {
    const std::vector<Matrix> mlp = mlp_matrices(model, layer, shard.tensor_parallel_size);
    return std::max(attend, mlp.front().n + mlp.back().k);
  }
  // Per routed copy of a token: gate and up (their buffer serves the output too), and the activation.
  const std::vector<Matrix> experts = expert_matrices(model, layer, shard);
  return std::max(attend, model.moe->top_k * (std::max(experts.front().n, model.hidden) + experts.back().k));
}

}  // namespace

std::int64_t profile_tokens(const MemoryRequest& request) {
  constexpr std::int64_t chunked_above = 32768;
  const bool unchunked = request.age == EngineAge::vllm_v0 && request.max_model_len <= chunked_above;
  return unchunked ? std::max(request.max_model_len, request.max_num_batched_tokens) : request.max_num_batched_tokens;
}

Bytes forward_peak(const ModelSpec& model, const Shard& shard, std::int64_t tokens) {
  std::int64_t widest = 0;
  const LayerSpec* previous = nullptr;
  for (std::int64_t i = shard.first_layer; i < shard.end(model); ++i) {
    const LayerSpec& layer = model.layers[static_cast<std::size_t>(i)];
    if (previous == nullptr || !(*previous == layer)) widest = std::max(widest, stage_width(model, layer, shard));
    previous = &layer;
  }
  return Bytes{2 * (3 * model.hidden + widest)} * tokens;
}

Sampler default_sampler(EngineAge age, std::int64_t max_num_seqs) {
  constexpr std::int64_t small_server = 256;
  if (age == EngineAge::vllm_main_2026) return Sampler::flashinfer;
  return age == EngineAge::vllm_v1 && max_num_seqs <= small_server ? Sampler::flashinfer : Sampler::pytorch;
}

Bytes sampler_peak(const ModelSpec& model, const MemoryRequest& request) {
  if (model.encoder || !request.shard.has_head(model)) return Bytes{0};
  const Sampler sampler = request.sampler.value_or(default_sampler(request.age, request.max_num_seqs));
  const double per_logit = sampler == Sampler::pytorch ? pytorch_bytes_per_logit : flashinfer_bytes_per_logit;
  const std::int64_t sequences = std::min(request.max_num_seqs, request.max_num_batched_tokens);
  const Bytes logits{std::llround(per_logit * static_cast<double>(sequences) * static_cast<double>(model.vocab))};
  return logits + Bytes{2 * model.hidden} * request.max_num_batched_tokens;
}

Bytes activation_peak(const ModelSpec& model, const MemoryRequest& request) {
  const Bytes forward = forward_peak(model, request.shard, profile_tokens(request));
  // V0 with tensor parallelism gathered the logits on the first rank, whose memory decides: 7.46 GiB of KV there, 8.69
  // on the other (vllm-project/vllm#13061). Single-GPU logs of V0 disagree: #10517 shows no sampler, others 1.2 GiB (2
  // % of an A100's cache).
  if (request.age == EngineAge::vllm_v0 && request.shard.tensor_parallel_size == 1) return forward;
  return std::max(forward, sampler_peak(model, request));
}

Bytes non_torch_memory(const MemoryRequest& request) {
  const double context = request.age == EngineAge::vllm_v0 ? v0_non_torch_gib : non_torch_gib;
  const double communication = request.shard.tensor_parallel_size > 1 ? communication_gib : 0.0;
  return gib(context + communication + (request.nodes > 1 ? network_gib : 0.0));
}

Bytes graph_memory(const MemoryRequest& request) {
  return request.age == EngineAge::vllm_main_2026 && !request.enforce_eager ? gib(graph_gib) : Bytes{0};
}

}  // namespace ridgeline
