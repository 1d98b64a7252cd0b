#include "models/memory_budget.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/memory_terms.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

double gib(Bytes bytes) { return bytes.as_double() / 1073741824.0; }

Bytes unavailable(const MemoryBudget& budget) {
  return budget.weights.total() + budget.drafter_weights + budget.activations + budget.non_torch + budget.graphs;
}

/// Bytes of KV that one max_model_len request needs.
Bytes needed(const MemoryBudget& budget) { return budget.layout.block_bytes() * budget.blocks_per_request; }

/// A drafter's layers join the target's blocks. Beside full attention alone they widen every block (vLLM
/// `UniformTypeKVCacheSpecs`); in a hybrid they are layers of its full-attention bucket.
KvLayout layout_of(const ModelSpec& model, const MemoryRequest& request) {
  KvLayout layout = kv_layout(model, request.kv, request.block_size, request.shard);
  if (request.drafter == nullptr || request.drafter->model.layers.empty()) return layout;
  const ModelSpec& drafter = request.drafter->model;
  if (layout.groups.size() == 1 && layout.groups.front().window == 0) {
    const Shard shard{.tensor_parallel_size = request.shard.tensor_parallel_size};
    layout.drafter_page = kv_bytes_per_token(drafter, request.kv, shard) * layout.groups.front().block_size;
    return layout;
  }
  ModelSpec both = model;
  both.layers.insert(both.layers.end(), drafter.layers.begin(), drafter.layers.end());
  return kv_layout(both, request.kv, request.block_size, request.shard);
}

/// What the engine prints as its KV size. With several groups a block id serves either kind: V1 divided the blocks
/// evenly, later versions print the concurrency in tokens.
Tokens printed_tokens(const MemoryBudget& budget, const MemoryRequest& request) {
  const auto groups = static_cast<std::int64_t>(budget.layout.groups.size());
  if (groups == 1) return Tokens{budget.num_gpu_blocks * budget.layout.groups.front().block_size};
  if (request.age == EngineAge::vllm_main_2026) {
    return Tokens{static_cast<std::int64_t>(budget.max_concurrency * static_cast<double>(request.max_model_len))};
  }
  return Tokens{budget.num_gpu_blocks / groups * request.block_size};
}

}  // namespace

MemoryBudget memory_budget(const ModelSpec& model, const MemoryRequest& request) {
  MemoryBudget budget;
  budget.total = request.total_memory;
  budget.requested = Bytes{detail::ceil_to_int64(request.gpu_memory_utilization * request.total_memory.as_double())};
  budget.weights = weight_bytes(model, request.shard);
  if (request.drafter != nullptr) {
    budget.drafter_weights = drafter_weight_bytes(*request.drafter, request.shard.tensor_parallel_size);
  }
  budget.activations = activation_peak(model, request);
  budget.non_torch = non_torch_memory(request);
  budget.graphs = graph_memory(request);
  budget.kv = request.kv_cache_memory.value_or(budget.requested - unavailable(budget));
  budget.kv_given = request.kv_cache_memory.has_value();

  budget.layout = layout_of(model, request);
  budget.num_gpu_blocks = std::max<std::int64_t>(0, budget.layout.blocks_in(budget.kv));
  budget.blocks_per_request =
      budget.layout.blocks_of_request(Tokens{request.max_model_len}, request.max_num_batched_tokens);
  if (budget.blocks_per_request > 0) {
    budget.max_concurrency =
        static_cast<double>(budget.num_gpu_blocks) / static_cast<double>(budget.blocks_per_request);
  }
  budget.kv_tokens = printed_tokens(budget, request);
  return budget;
}

std::int64_t longest_model_len(const ModelSpec& model, const MemoryRequest& request) {
  const MemoryBudget budget = memory_budget(model, request);
  const Tokens longest = budget.layout.longest_request(budget.num_gpu_blocks, request.max_num_batched_tokens);
  return std::min(longest.count(), model.max_model_len);
}

std::optional<double> smallest_utilization(const ModelSpec& model, const MemoryRequest& request) {
  const MemoryBudget budget = memory_budget(model, request);
  const double least = (unavailable(budget) + needed(budget)).as_double() / budget.total.as_double();
  const double percent = std::ceil(100.0 * least - 1e-9);
  return percent <= 100.0 ? std::optional(percent / 100.0) : std::nullopt;
}

std::optional<int> smallest_tensor_parallel(const ModelSpec& model, const MemoryRequest& request) {
  for (const int ranks : valid_tensor_parallel_sizes(model)) {
    MemoryRequest wider = request;
    wider.shard.tensor_parallel_size = ranks;
    if (memory_budget(model, wider).fits()) return ranks;
  }
  return std::nullopt;
}

std::optional<int> smallest_pipeline_parallel(const ModelSpec& model, const MemoryRequest& request) {
  constexpr std::int64_t most_stages = 64;
  for (int stages = 1; stages <= std::min(most_stages, model.layer_count()); ++stages) {
    const std::vector<Shard> shards = pipeline_shards(model, request.shard.tensor_parallel_size, stages);
    const bool fits = std::all_of(shards.begin(), shards.end(), [&](const Shard& shard) {
      MemoryRequest stage = request;
      stage.shard = shard;
      return memory_budget(model, stage).fits();
    });
    if (fits) return stages;
  }
  return std::nullopt;
}

void require_fits(const ModelSpec& model, const MemoryRequest& request, const MemoryBudget& budget) {
  if (budget.fits()) return;
  std::string text = fmt::format(
      "`{}` does not fit: one request of max_model_len {} needs {:.2f} GiB of KV per GPU, {:.2f} GiB is "
      "available",
      model.name, request.max_model_len, gib(needed(budget)), std::max(0.0, gib(budget.kv)));
  if (!budget.kv_given) {
    text += fmt::format(
        " ({:.2f} GiB x gpu_memory_utilization {} = {:.2f} GiB, less weights {:.2f}, activations {:.2f}, "
        "other {:.2f}, CUDA graphs {:.2f})",
        gib(budget.total), request.gpu_memory_utilization, gib(budget.requested),
        gib(budget.weights.total() + budget.drafter_weights),
        gib(budget.activations), gib(budget.non_torch), gib(budget.graphs));
  }
  std::vector<std::string> remedies;
  if (const std::int64_t longest = longest_model_len(model, request); longest > 0) {
    remedies.push_back(fmt::format("max_model_len <= {}", longest));
  }
  if (!budget.kv_given) {
    if (const auto utilization = smallest_utilization(model, request)) {
      remedies.push_back(fmt::format("gpu_memory_utilization >= {:.2f}", *utilization));
    }
    if (const auto ranks = smallest_tensor_parallel(model, request)) {
      remedies.push_back(fmt::format("tensor_parallel_size {}", *ranks));
    }
    if (const auto stages = smallest_pipeline_parallel(model, request)) {
      remedies.push_back(fmt::format("pipeline_parallel_size {}", *stages));
    }
  }
  for (std::size_t i = 0; i < remedies.size(); ++i) text += (i == 0 ? "; would work: " : " or ") + remedies[i];
  throw ConfigError(text);
}

}  // namespace ridgeline
