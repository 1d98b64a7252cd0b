#include "models/shard.hpp"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

/// KV heads must split evenly or be copied evenly.
bool splits_kv_heads(std::int64_t kv_heads, std::int64_t ranks) {
  if (kv_heads == 0) return true;
  return kv_heads >= ranks ? kv_heads % ranks == 0 : ranks % kv_heads == 0;
}

bool splits(const ModelSpec& model, std::int64_t ranks) {
  if (model.heads % ranks != 0 || model.intermediate % ranks != 0) return false;
  for (const LayerSpec& layer : model.layers) {
    if (!model.mla && !splits_kv_heads(layer.kv_heads, ranks)) return false;
  }
  return true;
}

}  // namespace

std::vector<int> valid_tensor_parallel_sizes(const ModelSpec& model) {
  std::vector<int> sizes;
  for (std::int64_t ranks = 1; ranks <= model.heads; ++ranks) {
    if (splits(model, ranks)) sizes.push_back(static_cast<int>(ranks));
  }
  return sizes;
}

void require_tensor_parallel(const ModelSpec& model, int tensor_parallel_size) {
  if (tensor_parallel_size >= 1 && splits(model, tensor_parallel_size)) return;
  throw ConfigError(fmt::format(
      "tensor_parallel_size {} does not divide `{}` ({} query heads, {} KV heads, MLP width {}); "
      "degrees that work: {}",
      tensor_parallel_size, model.name, model.heads, model.layers.empty() ? 0 : model.layers.front().kv_heads,
      model.intermediate, fmt::join(valid_tensor_parallel_sizes(model), ", ")));
}

std::vector<Shard> pipeline_shards(const ModelSpec& model, int tensor_parallel_size, int pipeline_parallel_size) {
  const std::int64_t stages = pipeline_parallel_size;
  if (stages < 1 || stages > model.layer_count()) {
    throw ConfigError(fmt::format("pipeline_parallel_size {} must lie between 1 and the {} layers of `{}`", stages,
                                  model.layer_count(), model.name));
  }
  std::vector<std::int64_t> layers(static_cast<std::size_t>(stages), model.layer_count() / stages);
  std::int64_t rest = model.layer_count() % stages;
  for (std::int64_t stage = stages - 2; rest > 0; --stage, --rest) ++layers[static_cast<std::size_t>(stage)];
  return pipeline_shards(model, tensor_parallel_size, layers);
}

std::vector<Shard> pipeline_shards(const ModelSpec& model, int tensor_parallel_size,
                                   const std::vector<std::int64_t>& layers) {
  const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (sum != model.layer_count()) {
    throw ConfigError(fmt::format("the pipeline split {} sums to {} layers; `{}` has {}", fmt::join(layers, "/"), sum,
                                  model.name, model.layer_count()));
  }
  std::vector<Shard> shards;
  std::int64_t first = 0;
  for (const std::int64_t count : layers) {
    if (count < 1) throw ConfigError(fmt::format("a pipeline stage needs at least one layer, got {}", count));
    shards.push_back({.tensor_parallel_size = tensor_parallel_size, .first_layer = first, .last_layer = first + count});
    first += count;
  }
  return shards;
}

}  // namespace ridgeline
