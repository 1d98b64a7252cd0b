#include "sim/scheduling/vllm_v1_speculation.hpp"

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

namespace ridgeline::vllm_v1 {

Speculation::Speculation(const EngineConfig& config, const std::string& path) {
  if (!config.speculation || config.speculation->num_speculative_tokens == 0) return;
  config_ = *config.speculation;
  tokens_ = config_.num_speculative_tokens;
  key_ = combine64(combine64(mix64(config.seed), hash64(path)), hash64("acceptance"));
  if (config_.method == "eagle" || config_.method == "draft_model") {
    lookahead_ = tokens_;
    draft_slots_ = config_.method == "draft_model" ? 1 : 0;
  } else if (config_.method != "ngram" && config_.method != "medusa") {
    throw ConfigError("speculative method `" + config_.method + "`" +
                      suggestion(config_.method, {"ngram", "eagle", "draft_model", "medusa"}));
  }
  if (config_.accepted.empty() && config_.acceptance.empty()) config_.acceptance.assign(1, 0.0);
}

std::int64_t Speculation::accept(Sequence& sequence, std::int64_t drafts) const {
  const auto step = static_cast<std::uint64_t>(sequence.verified++);
  const auto* fixed = sequence.request->spec.accepted ? sequence.request->spec.accepted.get() : &config_.accepted;
  if (!fixed->empty()) return std::min<std::int64_t>(drafts, (*fixed)[step % fixed->size()]);

  // One draw per (request, verify step, position), independent of the order in which the batch is walked.
  const std::uint64_t stream = combine64(combine64(key_, static_cast<std::uint64_t>(sequence.row)), step);
  std::int64_t accepted = 0;
  while (accepted < drafts) {
    const auto position = static_cast<std::size_t>(accepted);
    const double probability = config_.acceptance[std::min(position, config_.acceptance.size() - 1)];
    const std::uint64_t bits = combine64(stream, static_cast<std::uint64_t>(accepted));
    if ((static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52 >= probability) break;
    ++accepted;
  }
  return accepted;
}

}  // namespace ridgeline::vllm_v1
