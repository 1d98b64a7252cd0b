#include "scenarios/load/expand.hpp"

#include <cmath>

#include <fmt/format.h>

namespace ridgeline {

namespace {

constexpr std::size_t most_points = 100'000;

struct Axis {
  std::string path;
  std::vector<Config> values;
};

std::vector<Config> range_values(const Config& node, Diagnostics& errors) {
  std::vector<Config> values;
  MapReader reader(node, errors);
  const auto from = reader.require<double>("from");
  const auto to = reader.require<double>("to");
  const auto steps = reader.require<std::int64_t>("steps", {2, 1e5});
  const bool log = reader.choice("scale", "linear", {"linear", "log"}) == "log";
  reader.done();
  if (log && !(from > 0 && to > 0)) reader.mistake("scale", "a log scale needs positive bounds");
  if (!errors.empty()) return values;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(steps - 1);
    const double value = log ? from * std::pow(to / from, t) : from + (to - from) * t;
    values.push_back(Config::make_scalar(fmt::format("{:.12g}", value), node.where(), node.path()));
  }
  return values;
}

std::vector<Axis> read_axes(const Config& node, Diagnostics& errors) {
  std::vector<Axis> axes;
  if (!node.is_map()) {
    errors.add(node.mistake("expected key paths with lists of values, like `engine.max_num_seqs: [32, 64]`"));
    return axes;
  }
  for (const auto& [path, values] : node.entries()) {
    Axis axis{path, {}};
    if (values.is_sequence() && values.size() > 0) {
      for (std::size_t i = 0; i < values.size(); ++i) axis.values.push_back(values.at(i));
    } else if (values.is_map()) {
      axis.values = range_values(values, errors);
    } else {
      errors.add(values.mistake("expected a list of values, or {from, to, steps, scale}"));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// Flow text on one line, for labels and CSV cells.
std::string value_text(const Config& value) {
  if (value.is_scalar()) return value.scalar();
  std::string text = value.to_yaml();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

Config without(const Config& document, const std::vector<std::string>& keys) {
  Config rest = Config::make_map(document.where(), "");
  for (const auto& [key, node] : document.entries()) {
    bool dropped = false;
    for (const std::string& name : keys) dropped = dropped || name == key;
    if (!dropped) rest = rest.with(key, node);
  }
  return rest;
}

std::vector<ScenarioPoint> read_alternatives(const Config& document, const Config& base, Diagnostics& errors) {
  const auto node = document.find("alternatives");
  if (!node || node->is_null()) return {{"", {}, base}};
  std::vector<ScenarioPoint> points;
  if (!node->is_map() || node->size() == 0) {
    errors.add(node->mistake("expected named overlays, like `a100: {fleet: […]}`"));
    return points;
  }
  for (const auto& [name, overlay] : node->entries()) {
    if (!overlay.is_map()) {
      errors.add(overlay.mistake("expected a map of keys to lay over the scenario"));
      continue;
    }
    points.push_back({name, {{"alternative", name}}, base.merged(overlay)});
  }
  return points;
}

}  // namespace

std::vector<ScenarioPoint> expand(const Config& document) {
  Diagnostics errors;
  const Config base = without(document, {"alternatives", "sweep"});
  std::vector<ScenarioPoint> points = read_alternatives(document, base, errors);
  std::vector<Axis> axes;
  if (const auto sweep = document.find("sweep"); sweep && !sweep->is_null()) axes = read_axes(*sweep, errors);
  errors.throw_if_any();

  for (const Axis& axis : axes) {
    if (points.size() * axis.values.size() > most_points) {
      throw ConfigError(document.find("sweep")->mistake(fmt::format("more than {} points", most_points)));
    }
    std::vector<ScenarioPoint> product;
    for (const ScenarioPoint& point : points) {
      for (const Config& value : axis.values) {
        ScenarioPoint next = point;
        next.document = next.document.with(axis.path, value);
        next.values.emplace_back(axis.path, value_text(value));
        next.label += fmt::format("{}{}={}", next.label.empty() ? "" : ", ", axis.path, next.values.back().second);
        product.push_back(std::move(next));
      }
    }
    points = std::move(product);
  }
  return points;
}

}  // namespace ridgeline
