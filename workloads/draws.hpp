// What generated requests draw: lengths, outputs, shared prefixes. Each thing has its own stream of random numbers.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "sim/base/rng.hpp"
#include "sim/serving/request.hpp"
#include "workloads/lengths.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// A length drawn from its own stream; false when there is no distribution.
class DrawnLength {
 public:
  DrawnLength(const std::optional<LengthConfig>& lengths, std::uint64_t seed, std::string_view purpose)
      : sampler_(lengths ? make_sampler(*lengths) : nullptr), random_(seed, "workload", purpose) {}
  explicit operator bool() const { return sampler_ != nullptr; }
  Tokens operator()() { return sampler_->draw(random_); }

 private:
  std::unique_ptr<LengthSampler> sampler_;
  RandomStream random_;
};

/// How long answers get, and what the client asks for.
class DrawnOutput {
 public:
  DrawnOutput(const WorkloadConfig& workload, std::uint64_t seed);
  /// `row_output` and `row_max_tokens`: a trace row's own, used where the workload has no distribution.
  void set(RequestSpec& request, std::optional<Tokens> row_output, std::optional<Tokens> row_max_tokens);

 private:
  Tokens min_tokens_;
  bool ignore_eos_;
  DrawnLength output_, max_tokens_;
};

/// Picks one of the shared prefixes (system prompts).
class DrawnPrefix {
 public:
  DrawnPrefix(const SharedPrefixConfig& config, std::uint64_t seed);
  ContentRun operator()();

 private:
  std::uint64_t seed_;
  DrawnLength which_;                       // counts from 1
  std::unique_ptr<LengthSampler> tokens_;
};

}  // namespace ridgeline
