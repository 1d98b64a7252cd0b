// Lengths of prompts and outputs: how they are described, and how they are drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/config.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// No request may be longer: ten times the longest context on offer (Llama 4 Scout, 10 M tokens).
inline constexpr Tokens longest_length{100'000'000};

/// A distribution of token counts. Draws are rounded to the nearest whole token, then clamped to [least, most].
struct LengthConfig {
  enum class Distribution { fixed, uniform, lognormal, zipf, histogram, quantiles };

  Distribution distribution = Distribution::fixed;
  Tokens tokens;                      ///< fixed
  double mu = 0.0;                    ///< lognormal: mean of ln tokens
  double sigma = 0.0;                 ///< lognormal: standard deviation of ln tokens
  double exponent = 0.0;              ///< zipf: P(least + k) is proportional to (k+1)^-exponent
  std::vector<double> values;         ///< histogram: token counts; quantiles: tokens at `probabilities`
  std::vector<double> weights;        ///< histogram: weight of each value, any scale
  std::vector<double> probabilities;  ///< quantiles: rising from 0 to 1; between them the inverse CDF is linear
  std::string file;                   ///< histogram: the CSV `values` and `weights` were read from; empty: inline
  Tokens least{1};
  Tokens most = longest_length;
};

/// Reads a bare token count or a map `{distribution: ..., ...}`; mistakes go to `errors`.
///
///     512
///     {distribution: uniform, min: 100, max: 200}
///     {distribution: lognormal, mu: 6.6, sigma: 1.0}              # or mean and median; min and max clamp
///     {distribution: zipf, exponent: 1.2, min: 1, max: 4096}
///     {distribution: histogram, values: [..], weights: [..]}       # or file: a CSV with columns tokens[,weight]
///     {distribution: quantiles, probabilities: [0, .., 1], tokens: [..]}
LengthConfig read_lengths(const Config& node, Diagnostics& errors);

/// As YAML in flow style, readable by `read_lengths`.
std::string to_yaml(const LengthConfig& lengths);
/// For people: "lognormal, mu 6.63, sigma 0.985".
std::string describe(const LengthConfig& lengths);

/// Draws lengths: a pure function of its random stream.
class LengthSampler {
 public:
  virtual ~LengthSampler() = default;
  virtual Tokens draw(RandomStream& random) = 0;
};
std::unique_ptr<LengthSampler> make_sampler(const LengthConfig& lengths);

}  // namespace ridgeline
