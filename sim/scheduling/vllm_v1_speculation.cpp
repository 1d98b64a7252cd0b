#include "sim/scheduling/vllm_v1_speculation.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

namespace ridgeline::vllm_v1 {

namespace {

/// What a method asks of the scheduler (vLLM `v1/core/sched/scheduler.py`, `config/speculative.py`).
struct MethodRules {
  std::string_view name;
  bool reserves_slots;  ///< its drafter has a KV cache, a slot a draft
  std::int64_t draft_slots;
};
constexpr std::array<MethodRules, 6> methods{{
    {"ngram", false, 0},
    {"eagle", true, 0},
    {"eagle3", true, 0},
    {"mtp", true, 0},
    {"draft_model", true, 1},
    {"medusa", false, 0},
}};

const MethodRules& rules_of(const std::string& method) {
  const auto row = std::find_if(methods.begin(), methods.end(), [&](const MethodRules& m) { return m.name == method; });
  if (row != methods.end()) return *row;
  std::vector<std::string> names;
  for (const MethodRules& m : methods) names.emplace_back(m.name);
  throw ConfigError("speculative method `" + method + "`" + suggestion(method, names));
}

/// Uniform in (0, 1), a pure function of its key.
double unit(std::uint64_t key) { return (static_cast<double>(key >> 12) + 0.5) * 0x1.0p-52; }

}  // namespace

Speculation::Speculation(const EngineConfig& config, const std::string& path) {
  if (!config.speculation || config.speculation->num_speculative_tokens == 0) return;
  config_ = *config.speculation;
  tokens_ = config_.num_speculative_tokens;
  key_ = combine64(combine64(mix64(config.seed), hash64(path)), hash64("acceptance"));
  const MethodRules& rules = rules_of(config_.method);
  lookahead_ = rules.reserves_slots ? tokens_ : 0;
  draft_slots_ = rules.draft_slots;
  if (config_.accepted.empty() && config_.acceptance.empty()) config_.acceptance.assign(1, 0.0);
}

std::int64_t Speculation::tokens(std::int64_t running) const {
  std::int64_t tokens = tokens_;
  for (const SpeculationConfig::Rung& rung : config_.by_batch_size) {
    if (running < rung.batch_size) break;
    tokens = rung.tokens;
  }
  return tokens;
}

// One draw per (request, output so far), independent of the order in which the batch is walked.
bool Speculation::finds_drafts(const Sequence& sequence) const {
  if (config_.match_probability >= 1.0) return true;
  const std::uint64_t stream = combine64(combine64(key_, hash64("match")), static_cast<std::uint64_t>(sequence.row));
  return unit(combine64(stream, static_cast<std::uint64_t>(sequence.outputs))) < config_.match_probability;
}

std::int64_t Speculation::accept(Sequence& sequence, std::int64_t drafts) const {
  const auto step = static_cast<std::uint64_t>(sequence.verified++);
  if (config_.tree_depth > 0) drafts = std::min<std::int64_t>(drafts, config_.tree_depth);
  const auto* fixed = sequence.request->spec.accepted ? sequence.request->spec.accepted.get() : &config_.accepted;
  if (!fixed->empty()) return std::min<std::int64_t>(drafts, (*fixed)[step % fixed->size()]);

  // One draw per (request, verify step, position).
  const std::uint64_t stream = combine64(combine64(key_, static_cast<std::uint64_t>(sequence.row)), step);
  std::int64_t accepted = 0;
  while (accepted < drafts) {
    const auto position = static_cast<std::size_t>(accepted);
    const double probability = config_.acceptance[std::min(position, config_.acceptance.size() - 1)];
    if (unit(combine64(stream, static_cast<std::uint64_t>(accepted))) >= probability) break;
    ++accepted;
  }
  return accepted;
}

}  // namespace ridgeline::vllm_v1
