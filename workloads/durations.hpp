// Times drawn at random: a user's think time, a tool's running time.
#pragma once

#include <string>

#include "sim/base/config.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// A distribution of durations. Draws of the last two are clamped to [least, most].
struct DurationConfig {
  enum class Distribution { fixed, uniform, exponential, lognormal };

  Distribution distribution = Distribution::fixed;
  Duration time;       ///< fixed
  Duration mean;       ///< exponential, lognormal
  Duration median;     ///< lognormal: below the mean
  Duration least;      ///< zero at least
  Duration most = Duration::seconds(86'400.0 * 100);  ///< a run can't last longer
};

/// Reads a bare time or a map; mistakes go to `errors`.
///
///     2 s
///     {distribution: uniform, min: 1 s, max: 5 s}
///     {distribution: exponential, mean: 10 s}                  # min and max clamp
///     {distribution: lognormal, mean: 172 s, median: 10 s}
DurationConfig read_durations(const Config& node, Diagnostics& errors);

/// As YAML in flow style, readable by `read_durations`.
std::string to_yaml(const DurationConfig& durations);
/// For people: "lognormal, mean 172 s, median 10 s".
std::string describe(const DurationConfig& durations);

/// One draw: a pure function of the stream. Consumes one or two of its numbers.
Duration draw(const DurationConfig& durations, RandomStream& random);

}  // namespace ridgeline
