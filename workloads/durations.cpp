#include "workloads/durations.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace ridgeline {

namespace {

using Distribution = DurationConfig::Distribution;

const std::vector<std::string> names{"fixed", "uniform", "exponential", "lognormal"};

}  // namespace

DurationConfig read_durations(const Config& node, Diagnostics& errors) {
  DurationConfig durations;
  if (node.is_scalar()) {
    durations.time = read_value<Duration>(node, errors, non_negative).value_or(Duration{});
    return durations;
  }
  MapReader map(node, errors);
  if (!map.has("distribution")) map.mistake("distribution", "is missing" + suggestion("", names));
  const std::string name = map.choice("distribution", "fixed", names);
  durations.distribution = static_cast<Distribution>(std::find(names.begin(), names.end(), name) - names.begin());
  if (durations.distribution == Distribution::uniform) map.require_child("min"), map.require_child("max");
  if (durations.distribution != Distribution::fixed) {
    durations.least = map.get<Duration>("min", durations.least, non_negative);
    durations.most = map.get<Duration>("max", durations.most, non_negative);
    if (durations.least > durations.most) map.mistake("min", "is above `max`");
  }
  switch (durations.distribution) {
    case Distribution::fixed:
      if (map.has("distribution")) durations.time = map.require<Duration>("time", non_negative);
      break;
    case Distribution::uniform: break;
    case Distribution::exponential: durations.mean = map.require<Duration>("mean", positive); break;
    case Distribution::lognormal:
      durations.mean = map.require<Duration>("mean", positive);
      durations.median = map.require<Duration>("median", positive);
      if (durations.mean < durations.median) {
        map.mistake("mean", "is below the median, which no lognormal distribution allows");
      }
      break;
  }
  if (map.has("distribution")) map.done();
  return durations;
}

std::string to_yaml(const DurationConfig& durations) {
  if (durations.distribution == Distribution::fixed) return fmt::format("{} s", durations.time.seconds());
  std::string text = "{distribution: " + names[static_cast<std::size_t>(durations.distribution)];
  if (durations.distribution != Distribution::uniform) text += fmt::format(", mean: {} s", durations.mean.seconds());
  if (durations.distribution == Distribution::lognormal) text += fmt::format(", median: {} s", durations.median.seconds());
  return text + fmt::format(", min: {} s, max: {} s}}", durations.least.seconds(), durations.most.seconds());
}

std::string describe(const DurationConfig& durations) {
  switch (durations.distribution) {
    case Distribution::fixed: return fmt::format("{} s", durations.time.seconds());
    case Distribution::uniform:
      return fmt::format("uniform {} to {} s", durations.least.seconds(), durations.most.seconds());
    case Distribution::exponential: return fmt::format("exponential, mean {} s", durations.mean.seconds());
    case Distribution::lognormal:
      return fmt::format("lognormal, mean {} s, median {} s", durations.mean.seconds(), durations.median.seconds());
  }
  return {};
}

Duration draw(const DurationConfig& durations, RandomStream& random) {
  double seconds = 0.0;
  switch (durations.distribution) {
    case Distribution::fixed: return durations.time;
    case Distribution::uniform:
      seconds = durations.least.seconds() + random.uniform() * (durations.most.seconds() - durations.least.seconds());
      break;
    case Distribution::exponential: seconds = -std::log(random.uniform()) * durations.mean.seconds(); break;
    case Distribution::lognormal: {
      // mean = median * exp(sigma^2 / 2); the normal draw is Box and Muller's.
      const double sigma = std::sqrt(2.0 * std::log(durations.mean.seconds() / durations.median.seconds()));
      const double radius = std::sqrt(-2.0 * std::log(random.uniform()));
      const double normal = radius * std::cos(2.0 * std::numbers::pi * random.uniform());
      seconds = durations.median.seconds() * std::exp(sigma * normal);
      break;
    }
  }
  return Duration::seconds(std::clamp(seconds, durations.least.seconds(), durations.most.seconds()));
}

}  // namespace ridgeline
