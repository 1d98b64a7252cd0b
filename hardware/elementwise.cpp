#include "hardware/elementwise.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/config.hpp"

namespace ridgeline {

namespace {

struct FamilyRow {
  ElementwiseFamily family;
  std::string_view name;
  std::int64_t bytes_per_element;  ///< 16-bit tensors read and written once
};

constexpr std::array<FamilyRow, elementwise_family_count> rows{{
    {ElementwiseFamily::norm, "norm", 4},                          // read x, write y
    {ElementwiseFamily::residual_norm, "residual_norm", 8},        // read x and residual, write both
    {ElementwiseFamily::rope, "rope", 4},                          // in place
    {ElementwiseFamily::gated_activation, "gated_activation", 6},  // read gate and up, write one (width = one half)
    {ElementwiseFamily::activation, "activation", 4},
    {ElementwiseFamily::add, "add", 6},
    {ElementwiseFamily::embedding, "embedding", 4},  // read the row of the table, write it
    {ElementwiseFamily::quantise, "quantise", 3},    // read 16 bits, write 8
    {ElementwiseFamily::sampling, "sampling", 2},    // read 16-bit logits
    {ElementwiseFamily::layer_norm, "layer_norm", 4},  // mean and variance, with bias
}};

const FamilyRow& row_of(ElementwiseFamily family) { return rows[static_cast<std::size_t>(family)]; }

}  // namespace

std::string_view to_string(ElementwiseFamily family) { return row_of(family).name; }

Bytes ideal_bytes(const ElementwiseShape& shape) {
  return Bytes{row_of(shape.family).bytes_per_element} * shape.rows * shape.width;
}

FamilyPrice price(const ElementwiseShape& shape, const ElementwiseParameters& parameters, const GpuSpec& gpu) {
  const ElementwiseParameters::Family& family = parameters.of(shape.family);
  if (shape.rows <= 0 || shape.width <= 0) return {family.fixed, {}, {}, family.fixed};
  const double bytes = ideal_bytes(shape).as_double();
  const double share = bytes / gpu.l2.as_double();
  const double missing = std::clamp((share - parameters.l2_full) / (parameters.l2_none - parameters.l2_full), 0.0, 1.0);
  const double seconds_per_byte = family.traffic / gpu.memory_bandwidth.count();
  const double memory = bytes * seconds_per_byte * (missing + (1.0 - missing) / parameters.l2_speedup);
  const double row = family.row_latency.seconds() * static_cast<double>(shape.width) / 1024.0;
  const double body = std::cbrt(memory * memory * memory + row * row * row);
  return {family.fixed, Duration::seconds(row), Duration::seconds(memory), family.fixed + Duration::seconds(body)};
}

ElementwiseParameters read_elementwise_parameters(MapReader& map) {
  ElementwiseParameters parameters;
  parameters.l2_speedup = map.require<double>("l2_speedup", at_least_one);
  parameters.l2_full = map.require<double>("l2_full", non_negative);
  parameters.l2_none = map.require<double>("l2_none", positive);
  if (parameters.l2_none <= parameters.l2_full) map.mistake("l2_none", "must exceed `l2_full`");
  for (const FamilyRow& row : rows) {
    const auto node = map.require_child(row.name);
    if (!node) continue;
    MapReader inner(*node, map.errors());
    auto& family = parameters.families[static_cast<std::size_t>(row.family)];
    family.fixed = inner.require<Duration>("fixed", non_negative);
    family.row_latency = inner.require<Duration>("row_latency", non_negative);
    family.traffic = inner.require<double>("traffic", positive);
    inner.done();
  }
  return parameters;
}

}  // namespace ridgeline
