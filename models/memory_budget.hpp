// How much GPU memory is left for the KV cache, line by line, as vLLM's start-up profile finds it.
//
// KV = utilisation x memory - weights - activation peak - what is not PyTorch's - CUDA graphs (engine ages that deduct
// them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/drafter.hpp"
#include "models/kv_bytes.hpp"
#include "models/parameters.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// Engines whose start-up profile differs.
enum class EngineAge : std::uint8_t {
  vllm_v0,         ///< until 2025-01: the profile runs the longest prompt unchunked, below 32k
  vllm_v1,         ///< 0.8 … 0.11: CUDA graphs come on top, out of the memory left over
  vllm_main_2026,  ///< an estimate of the CUDA graphs is deducted as well
};

/// How the sampler's warm-up finds top-k and top-p. It decides the activation peak of most dense models.
enum class Sampler : std::uint8_t {
  pytorch,     ///< sorts all logits
  flashinfer,  ///< rejection sampling without a sort (also the Triton kernels of 2026)
};

/// What the budget depends on.
struct MemoryRequest {
  Bytes total_memory;  ///< of one GPU, as the driver reports it
  double gpu_memory_utilization = 0.0;
  std::optional<Bytes> kv_cache_memory;  ///< per GPU; stated instead of predicted
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t max_num_seqs = 0;
  std::int64_t max_model_len = 0;
  std::int64_t block_size = 0;
  KvFormat kv;
  Shard shard;
  const DrafterSpec* drafter = nullptr;  ///< on the same GPUs: weights, and KV in the same blocks
  int nodes = 1;  ///< machines the tensor-parallel ranks are spread over
  EngineAge age = EngineAge::vllm_v1;
  bool enforce_eager = false;      ///< no CUDA graphs
  std::optional<Sampler> sampler;  ///< default: see `default_sampler`
};

/// The budget of one GPU.
struct MemoryBudget {
  Bytes total;
  Bytes requested;  ///< ceil(utilisation x total)
  WeightBytes weights;
  Bytes drafter_weights;
  Bytes activations;  ///< transient peak of the profile run
  Bytes non_torch;    ///< CUDA context growth, NCCL buffers, workspaces
  Bytes graphs;       ///< deducted by the engine, or 0
  Bytes kv;           ///< may be negative: then the model does not fit
  bool kv_given = false;

  KvLayout layout;
  std::int64_t num_gpu_blocks = 0;      ///< null block included; 0 when nothing is left
  std::int64_t blocks_per_request = 0;  ///< of one max_model_len request
  Tokens kv_tokens;                     ///< "GPU KV cache size" as the engine prints it
  double max_concurrency = 0.0;         ///< "Maximum concurrency for max_model_len tokens per request"

  [[nodiscard]] bool fits() const { return num_gpu_blocks >= blocks_per_request; }
};

/// Which sampler an installation has is not visible from its flags; the default follows the start-up logs of each age.
/// V1: servers that run at most 256 sequences (A100 class, 0.10.1) had FlashInfer, those with more (H100 class, 0.11.0)
/// PyTorch.
Sampler default_sampler(EngineAge age, std::int64_t max_num_seqs);

/// The budget; does not complain when nothing fits.
MemoryBudget memory_budget(const ModelSpec& model, const MemoryRequest& request);

/// Throws ConfigError when one max_model_len request does not fit: the lines, and the numbers that would work (longest
/// max_model_len, smallest utilisation, tensor parallelism).
void require_fits(const ModelSpec& model, const MemoryRequest& request, const MemoryBudget& budget);

/// Smallest utilisation (rounded up to 1 %) at which one max_model_len request fits, or none up to 1.
std::optional<double> smallest_utilization(const ModelSpec& model, const MemoryRequest& request);
/// Longest max_model_len that fits, in tokens; 0 when none.
std::int64_t longest_model_len(const ModelSpec& model, const MemoryRequest& request);
/// Smallest tensor-parallel degree of the model that fits, if any does.
std::optional<int> smallest_tensor_parallel(const ModelSpec& model, const MemoryRequest& request);
/// Smallest number of pipeline stages, at the requested tensor parallelism, whose fullest stage fits.
std::optional<int> smallest_pipeline_parallel(const ModelSpec& model, const MemoryRequest& request);

}  // namespace ridgeline
