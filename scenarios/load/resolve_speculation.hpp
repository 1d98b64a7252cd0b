// Reads `engine.speculative_config` and builds the drafter it names.
#pragma once

#include <optional>
#include <string>

#include "models/drafter.hpp"
#include "sim/base/config.hpp"
#include "sim/cost/composed_step_cost.hpp"
#include "sim/serving/engine_config.hpp"

namespace ridgeline {

/// `speculative_config` as written; `num_speculative_tokens: 0` turns it off, so that sweeps have a base. What the scheduler needs, and what the price and the memory need beside it.
struct SpeculationKeys {
  SpeculationConfig config;
  std::string draft_model;           ///< of method draft_model: a catalog name or the path of a config.json
  std::string quantization = "auto"; ///< of that model
  std::int64_t draft_vocab_size = 0; ///< of method eagle3
  std::optional<HostOverhead> host;  ///< CPU time of proposing; `overlapped` is the engine's
};

/// nullopt when absent or null. Mistakes go to `errors`.
std::optional<SpeculationKeys> read_speculation(const std::optional<Config>& node, Diagnostics& errors);

/// Proposers that need the host between steps can't be scheduled ahead of: n-gram and Medusa (vLLM `config/vllm.py`), trees
/// (SGLang overlaps speculation for topk 1 only).
bool forbids_async_scheduling(const SpeculationConfig& speculation);

/// The drafter on `target`; nullopt for n-gram. `dtype` as the engine's. Throws ConfigError.
std::optional<DrafterSpec> make_drafter_spec(const SpeculationKeys& keys, const ModelSpec& target, const std::string& dtype);

/// Tokens a verify step yields on average, by the closed forms: 1 + sum over depths of the product of the acceptances up
/// to there; for n-gram weighted with the share of the steps that have drafts.
double expected_tokens_per_step(const SpeculationConfig& speculation);

}  // namespace ridgeline
