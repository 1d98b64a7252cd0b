// The weight matrices of one layer on one rank, stated once: parameter counts, weight bytes and GEMM shapes all come
// from here.
#pragma once

#include <cstdint>
#include <vector>

#include "models/shard.hpp"

namespace ridgeline {

/// `copies` matrices W[n,k] in one format. With them come `bias` extra 16-bit values.
struct Matrix {
  LinearKind kind = LinearKind::qkv;
  const char* name = "";
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t copies = 1;
  std::int64_t bias = 0;  ///< of all copies together
  const WeightFormat* format = nullptr;

  [[nodiscard]] std::int64_t parameters() const { return copies * n * k; }
};

/// Projections of one attention layer: fused QKV and O; the low-rank chain for MLA; the mixer's for recurrent layers.
std::vector<Matrix> attention_matrices(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size);

/// Dense MLP of one rank: fused gate and up (or up alone), down.
std::vector<Matrix> mlp_matrices(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size);

/// Routed experts held by one rank: whole ones under expert parallelism, slices of all otherwise.
std::vector<Matrix> expert_matrices(const ModelSpec& model, const LayerSpec& layer, const Shard& shard);

/// Shared experts of one rank, fused into one MLP.
std::vector<Matrix> shared_expert_matrices(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size);

/// Values per normalisation weight vector entry: scale, or scale and shift.
constexpr std::int64_t norm_values(const ModelSpec& model) { return model.layer_norm ? 2 : 1; }

/// Small vectors of one attention layer: qk norms, sinks, MLA's inner norms, convolution and decay of recurrent layers.
std::int64_t attention_vector_parameters(const ModelSpec& model, const LayerSpec& layer, int tensor_parallel_size);

}  // namespace ridgeline
