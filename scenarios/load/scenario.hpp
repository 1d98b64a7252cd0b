// The typed scenario: everything a run needs, validated and resolved. Nothing in it changes after loading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "models/memory_budget.hpp"
#include "models/model_spec.hpp"
#include "models/precision.hpp"
#include "models/shard.hpp"
#include "sim/base/config.hpp"
#include "sim/base/units.hpp"
#include "sim/cost/composed_step_cost.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/router.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// How a step is priced.
enum class CostKind : std::uint8_t {
  roofline,  ///< operators on the GPU's calibrated roofline, plus host overhead
  table,     ///< measured operator times from a CSV, roofline for what it lacks
  constant,  ///< every step takes `step_time` (scheduler tests)
};

struct CostConfig {
  CostKind kind = CostKind::roofline;
  Duration step_time;      ///< of `constant`
  std::string table_file;  ///< of `table`
};

/// Identical replicas behind the router.
struct Pool {
  std::string name;
  int replicas = 1;

  /// Absent only where nothing needs them: `cost: {model: constant}` with `num_gpu_blocks_override`.
  std::optional<GpuSpec> gpu;
  std::optional<ModelSpec> model;      ///< quantised as the engine was asked to
  std::optional<NodeType> node;        ///< the GPU's usual node unless the scenario names one
  std::string calibration = "auto";    ///< by GPU, or the path of a calibration file

  int tensor_parallel_size = 1;        ///< pipeline, data and expert parallelism are refused by name on load
  KvFormat kv;
  EngineConfig engine;                 ///< resolved, `num_gpu_blocks` included
  HostOverhead host;                   ///< CPU time a step, by engine profile or given
  std::optional<DrafterSpec> drafter;  ///< of speculative decoding; none for n-gram
  HostOverhead drafter_host;           ///< CPU time of proposing, a step
  bool enforce_eager = false;          ///< true: no CUDA graphs
  std::vector<std::int64_t> cudagraph_capture_sizes;  ///< ascending; empty when eager

  double gpu_memory_utilization = 0.0;
  std::optional<std::int64_t> num_gpu_blocks_override;
  std::optional<Bytes> kv_cache_memory_bytes;  ///< per GPU
  /// What fills a GPU's memory; absent when the block count is given and model or GPU are not.
  std::optional<MemoryBudget> memory;

  std::optional<DollarsPerHour> price_per_gpu_hour;

  [[nodiscard]] Shard shard() const { return {.tensor_parallel_size = tensor_parallel_size}; }
  [[nodiscard]] int gpus() const { return replicas * tensor_parallel_size; }
};

/// Service-level objective. A metric without a limit is not judged.
struct Slo {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> itl;
  std::optional<Duration> e2el;
  std::optional<double> percentile;     ///< the limits hold at this percentile of each metric (99 = p99)
  std::optional<double> goodput_share;  ///< this share of requests meets every limit (0.9)

  [[nodiscard]] bool empty() const { return !ttft && !tpot && !itl && !e2el; }
  [[nodiscard]] ServiceLevel limits() const { return {ttft, tpot, itl, e2el}; }
};

struct Scenario {
  std::string name;
  std::uint64_t seed = 0;
  std::vector<Pool> fleet;
  RouterConfig router;
  WorkloadConfig workload;
  CostConfig cost;
  Slo slo;

  /// The scenario with every default written out and derived values beside them: a valid scenario with the same result.
  Config resolved;
  /// What a careful reader should know before trusting the answer. Never empty text; printed and part of the JSON.
  std::vector<Diagnostic> warnings;

  [[nodiscard]] int gpus() const {
    int sum = 0;
    for (const Pool& pool : fleet) sum += pool.gpus();
    return sum;
  }
};

}  // namespace ridgeline
