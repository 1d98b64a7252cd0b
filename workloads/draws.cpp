#include "workloads/draws.hpp"

#include <algorithm>

namespace ridgeline {

DrawnOutput::DrawnOutput(const WorkloadConfig& workload, std::uint64_t seed)
    : min_tokens_(workload.min_tokens),
      ignore_eos_(workload.ignore_eos),
      output_(workload.output_tokens, seed, "output_tokens"),
      max_tokens_(workload.max_tokens, seed, "max_tokens") {}

// The model stops by itself after `natural` tokens, unless it is not allowed to yet or any more.
void DrawnOutput::set(RequestSpec& request, std::optional<Tokens> row_output, std::optional<Tokens> row_max_tokens) {
  const std::optional<Tokens> asked = max_tokens_ ? std::optional(max_tokens_()) : row_max_tokens;
  const std::optional<Tokens> natural = output_ ? std::optional(output_()) : row_output;
  Tokens output = std::max(natural.value_or(Tokens{1}), min_tokens_);
  if (asked) output = ignore_eos_ ? *asked : std::min(output, *asked);
  request.output = output;
  request.max_tokens = asked.value_or(output);
}

namespace {

// Prefix k of 1 … count has probability proportional to k^-exponent; exponent 0 = all alike.
LengthConfig popularity(const SharedPrefixConfig& config) {
  LengthConfig which;
  which.distribution = config.zipf_exponent > 0.0 ? LengthConfig::Distribution::zipf : LengthConfig::Distribution::uniform;
  which.exponent = config.zipf_exponent;
  which.most = Tokens{config.count};
  return which;
}

}  // namespace

DrawnPrefix::DrawnPrefix(const SharedPrefixConfig& config, std::uint64_t seed)
    : seed_(seed), which_(popularity(config), seed, "shared_prefix"), tokens_(make_sampler(config.tokens)) {}

ContentRun DrawnPrefix::operator()() {
  const auto which = static_cast<std::uint64_t>(which_().count() - 1);
  // A prefix has its length for good: the draw depends on its number alone.
  RandomStream length(combine64(seed_, which), "workload", "shared_prefix_tokens");
  return {combine64(hash64("shared_prefix"), which), Tokens{0}, tokens_->draw(length)};
}

}  // namespace ridgeline
