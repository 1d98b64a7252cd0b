#include "hardware/quantise_input.hpp"

#include "sim/base/config.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

constexpr double l2_share = 0.5;  // the output and other tensors need room too

}  // namespace

FamilyPrice price_quantise_input(std::int64_t rows, std::int64_t width, DType to, const QuantiseInputParameters& parameters,
                                 const GpuSpec& gpu) {
  if (bits(to) >= 16) throw InternalError("quantising an input to " + std::string(to_string(to)) + " makes no sense");
  const double elements = static_cast<double>(rows) * static_cast<double>(width);
  const double bytes = elements * (2.0 + bits(to) / 8.0);
  const double ratio = elements * 2.0 / (l2_share * gpu.l2.as_double());
  const double resident = 1.0 / (1.0 + (ratio * ratio) * (ratio * ratio));
  const double per_byte = (resident / parameters.l2_speedup + (1.0 - resident)) / gpu.memory_bandwidth.count();
  const Duration memory = Duration::seconds(parameters.traffic * bytes * per_byte);
  return {parameters.fixed, Duration{}, memory, parameters.fixed + memory};
}

QuantiseInputParameters read_quantise_input_parameters(MapReader& map) {
  QuantiseInputParameters parameters;
  parameters.fixed = map.require<Duration>("fixed", non_negative);
  parameters.traffic = map.require<double>("traffic", positive);
  parameters.l2_speedup = map.require<double>("l2_speedup", at_least_one);
  return parameters;
}

}  // namespace ridgeline
