#include "models/kv_bytes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

template <class Function>
Bytes sum_over_layers(const ModelSpec& model, const Shard& shard, Function bytes_of) {
  Bytes sum;
  for (std::int64_t index = shard.first_layer; index < shard.end(model); ++index) {
    sum += bytes_of(model.layers[static_cast<std::size_t>(index)]);
  }
  return sum;
}

struct Bucket {
  AttentionKind kind = AttentionKind::full;
  std::int64_t window = 0;
  Bytes per_token;
  std::int64_t layers = 0;
};

/// Layers that share kind, window and width, in order of first appearance, full attention first.
std::vector<Bucket> bucket_layers(const ModelSpec& model, const KvFormat& kv, const Shard& shard) {
  std::vector<Bucket> buckets;
  for (std::int64_t index = shard.first_layer; index < shard.end(model); ++index) {
    const LayerSpec& layer = model.layers[static_cast<std::size_t>(index)];
    if (layer.attention == AttentionKind::recurrent) {
      throw ConfigError(fmt::format(
          "`{}` mixes attention with recurrent layers; block tables of such hybrids are not modelled", model.name));
    }
    const Bucket key{layer.attention, layer.window, kv_bytes_per_token(model, layer, kv, shard.tensor_parallel_size),
                     1};
    const auto same = std::find_if(buckets.begin(), buckets.end(), [&key](const Bucket& bucket) {
      return bucket.kind == key.kind && bucket.window == key.window && bucket.per_token == key.per_token;
    });
    if (same == buckets.end()) {
      buckets.push_back(key);
    } else {
      ++same->layers;
    }
  }
  std::stable_partition(buckets.begin(), buckets.end(), [](const Bucket& b) { return b.kind == AttentionKind::full; });
  return buckets;
}

}  // namespace

Bytes kv_bytes_per_token(const ModelSpec& model, const LayerSpec& layer, const KvFormat& kv, int tensor_parallel_size) {
  if (model.encoder || layer.attention == AttentionKind::recurrent) return Bytes{0};
  const std::int64_t elements = model.mla ? model.mla->kv_rank + model.mla->rope_dim
                                          : kv_heads_per_gpu(layer.kv_heads, tensor_parallel_size) * 2 * layer.head_dim;
  if (model.mla && kv.name == "fp8_ds_mla") {
    // 512 fp8 latents with four fp32 scales and 64 bf16 rope values (vLLM `fp8_ds_mla`): 656 bytes.
    return Bytes{model.mla->kv_rank + model.mla->kv_rank / 128 * 4 + model.mla->rope_dim * 2};
  }
  return Bytes{static_cast<std::int64_t>(std::ceil(static_cast<double>(elements) * kv.bits / 8.0))};
}

Bytes kv_bytes_per_token(const ModelSpec& model, const KvFormat& kv, const Shard& shard) {
  return sum_over_layers(model, shard, [&](const LayerSpec& layer) {
    return kv_bytes_per_token(model, layer, kv, shard.tensor_parallel_size);
  });
}

Bytes growing_kv_bytes_per_token(const ModelSpec& model, const KvFormat& kv, const Shard& shard) {
  return sum_over_layers(model, shard, [&](const LayerSpec& layer) {
    if (layer.attention != AttentionKind::full) return Bytes{0};
    return kv_bytes_per_token(model, layer, kv, shard.tensor_parallel_size);
  });
}

Bytes kv_bytes_of_sequence(const ModelSpec& model, const KvFormat& kv, Tokens tokens, const Shard& shard) {
  return sum_over_layers(model, shard, [&](const LayerSpec& layer) {
    const std::int64_t kept = layer.window > 0 ? std::min(layer.window, tokens.count()) : tokens.count();
    return kv_bytes_per_token(model, layer, kv, shard.tensor_parallel_size) * kept;
  });
}

Bytes recurrent_state_bytes(const ModelSpec& model, const Shard& shard) {
  return sum_over_layers(model, shard, [&](const LayerSpec& layer) {
    if (layer.attention != AttentionKind::recurrent) return Bytes{0};
    const RecurrentSpec& mixer = *model.recurrent;
    const std::int64_t channels = 2 * mixer.key_heads * mixer.key_dim + mixer.value_heads * mixer.value_dim;
    const std::int64_t state = mixer.value_heads * mixer.key_dim * mixer.value_dim;
    return Bytes{4 * (state + channels * (mixer.convolution - 1)) / shard.tensor_parallel_size};
  });
}

std::int64_t KvLayout::blocks_of_request(Tokens tokens, std::int64_t max_num_batched_tokens) const {
  std::int64_t sum = 0;
  for (const KvGroup& group : groups) {
    if (group.window == 0) {
      sum += ceil_divide(tokens.count(), group.block_size);
      continue;
    }
    // A chunked layer may hold the whole chunk, a sliding one the window less the token being computed.
    const std::int64_t held = group.chunked ? group.window : group.window - 1;
    const std::int64_t most = std::min(held + max_num_batched_tokens, tokens.count());
    sum += ceil_divide(most, group.block_size) + (group.chunked ? 0 : 1);
  }
  return sum;
}

Tokens KvLayout::longest_request(std::int64_t blocks, std::int64_t max_num_batched_tokens) const {
  // Blocks rise with tokens: bisect. The upper end is what full blocks of one group alone could hold.
  std::int64_t largest_block = 1;
  for (const KvGroup& group : groups) largest_block = std::max(largest_block, group.block_size);
  std::int64_t low = 0;
  std::int64_t high = std::max<std::int64_t>(blocks, 0) * largest_block;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (blocks_of_request(Tokens{middle}, max_num_batched_tokens) <= blocks) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return Tokens{low};
}

std::vector<std::int64_t> KvLayout::windows() const {
  std::vector<std::int64_t> list;
  for (const KvGroup& group : groups) list.push_back(group.window);
  return list;
}

KvLayout kv_layout(const ModelSpec& model, const KvFormat& kv, std::int64_t block_size, const Shard& shard) {
  if (model.encoder) throw ConfigError(fmt::format("`{}` is an encoder: it keeps no KV cache", model.name));
  const std::vector<Bucket> buckets = bucket_layers(model, kv, shard);
  if (buckets.empty()) throw ConfigError(fmt::format("a pipeline stage of `{}` has no layers", model.name));

  KvLayout layout;
  std::int64_t smallest = buckets.front().layers;
  std::int64_t largest = smallest;
  Bytes widest;
  for (const Bucket& bucket : buckets) {
    smallest = std::min(smallest, bucket.layers);
    largest = std::max(largest, bucket.layers);
    widest = std::max(widest, bucket.per_token);
  }
  layout.layers_per_group = 2 * largest < 3 * smallest ? largest : smallest;
  layout.page = widest * block_size;
  for (const Bucket& bucket : buckets) {
    if (widest.count() % bucket.per_token.count() != 0) {
      throw ConfigError(
          fmt::format("`{}` has layers of {} and {} KV bytes per token, which no common block size serves", model.name,
                      widest.count(), bucket.per_token.count()));
    }
    for (std::int64_t left = bucket.layers; left > 0; left -= layout.layers_per_group) {
      layout.groups.push_back({.window = bucket.window,
                               .chunked = bucket.kind == AttentionKind::chunked,
                               .layers = std::min(left, layout.layers_per_group),
                               .block_size = block_size * (widest / bucket.per_token)});
    }
  }
  return layout;
}

}  // namespace ridgeline
