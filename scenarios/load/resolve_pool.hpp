// One pool of the fleet: GPU, model and engine brought together, memory counted out, what does not fit refused.
#pragma once

#include <string>
#include <vector>

#include "scenarios/load/resolve_engine.hpp"
#include "scenarios/load/scenario.hpp"

namespace ridgeline {

/// A pool and what `engine:` said about it, for writing the resolved scenario.
struct ResolvedPool {
  Pool pool;
  EngineKeys keys;
  std::string gpu_name;    ///< catalog name or absolute path; empty when the pool has none
  std::string node_name;
  std::string model_name;
};

/// What to do with a model that does not fit into the GPU's memory.
enum class FitRule : std::uint8_t {
  refuse,  ///< a mistake, naming numbers that work
  warn,    ///< a warning: the operators can be explained all the same
};

/// Reads `fleet[i]`, defaults already merged in. Every mistake goes to `errors`; the pool is then incomplete.
/// Things worth knowing (tensor parallelism across nodes, weight-only fallbacks) go to `warnings`.
ResolvedPool resolve_pool(const Config& node, std::size_t index, const CostConfig& cost, Diagnostics& errors,
                          std::vector<Diagnostic>& warnings, FitRule fit = FitRule::refuse);

}  // namespace ridgeline
