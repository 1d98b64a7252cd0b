// The part of a model that one GPU holds under tensor and pipeline parallelism.
#pragma once

#include <cstdint>
#include <vector>

#include "models/model_spec.hpp"

namespace ridgeline {

/// One tensor-parallel rank of one pipeline stage. Layers [first_layer, last_layer); the defaults mean the whole model.
struct Shard {
  int tensor_parallel_size = 1;
  int expert_parallel_size = 1;  ///< ranks over which whole experts are spread; 1 = experts are cut like the dense MLP
  std::int64_t first_layer = 0;
  std::int64_t last_layer = -1;  ///< -1: to the end

  [[nodiscard]] std::int64_t end(const ModelSpec& model) const {
    return last_layer < 0 ? model.layer_count() : last_layer;
  }
  [[nodiscard]] bool has_embedding() const { return first_layer == 0; }
  [[nodiscard]] bool has_head(const ModelSpec& model) const { return end(model) == model.layer_count(); }
};

/// KV heads on one rank: at least one, so ranks beyond the KV heads hold copies (vLLM `get_num_kv_heads`).
constexpr std::int64_t kv_heads_per_gpu(std::int64_t kv_heads, std::int64_t tensor_parallel_size) {
  return kv_heads == 0 ? 0 : kv_heads / tensor_parallel_size > 1 ? kv_heads / tensor_parallel_size : 1;
}

/// Tensor-parallel degrees the model allows: divisors of the query heads that divide, or are multiples of, the KV heads
/// and divide the MLP width.
std::vector<int> valid_tensor_parallel_sizes(const ModelSpec& model);

/// Throws ConfigError with the degrees that work.
void require_tensor_parallel(const ModelSpec& model, int tensor_parallel_size);

/// Layers per pipeline stage as vLLM splits them: evenly, the remainder one each to the stages before the last, from
/// the back
/// (`vllm/distributed/utils.py get_pp_indices`). Throws ConfigError when there are more stages than layers.
std::vector<Shard> pipeline_shards(const ModelSpec& model, int tensor_parallel_size, int pipeline_parallel_size);

/// The same with a stated split (`VLLM_PP_LAYER_PARTITION`); must sum to the layer count.
std::vector<Shard> pipeline_shards(const ModelSpec& model, int tensor_parallel_size,
                                   const std::vector<std::int64_t>& layers);

}  // namespace ridgeline
