#include "scenarios/load/expand.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

namespace ridgeline {

namespace {

constexpr std::size_t most_points = 100'000;

// One value of one key, as it is set and as it is called.
struct Setting {
  std::string path;
  Config value;
  std::string text;
};

// What varies together: step i of the axis makes all of `steps[i]` at once.
struct Axis {
  std::vector<std::vector<Setting>> steps;
};

// Flow text on one line, for labels and CSV cells.
std::string value_text(const Config& value) {
  if (value.is_scalar()) return value.scalar();
  if (value.is_null()) return "null";
  std::string text = value.to_yaml();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::vector<Config> range_values(const Config& node, Diagnostics& errors) {
  std::vector<Config> values;
  MapReader reader(node, errors);
  const auto from = reader.require<double>("from");
  const auto to = reader.require<double>("to");
  const auto steps = reader.require<std::int64_t>("steps", {2, 1e5});
  const bool log = reader.choice("scale", "linear", {"linear", "log"}) == "log";
  const bool integer = reader.get("integer", false);
  reader.done();
  if (log && !(from > 0 && to > 0)) reader.mistake("scale", "a log scale needs positive bounds");
  if (!errors.empty()) return values;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(steps - 1);
    const double value = log ? from * std::pow(to / from, t) : from + (to - from) * t;
    const std::string text = fmt::format("{:.12g}", integer ? std::nearbyint(value) : value);
    if (integer && !values.empty() && values.back().scalar() == text) continue;  // rounding brought two together
    values.push_back(Config::make_scalar(text, node.where(), node.path()));
  }
  return values;
}

std::vector<Setting> named_values(const std::string& path, const Config& node, Diagnostics& errors) {
  std::vector<Setting> settings;
  MapReader reader(node, errors);
  const Config named = *reader.child("named");
  reader.done();
  if (!named.is_map() || named.size() == 0) {
    errors.add(named.mistake("expected names with values, like `{off: false, on: true}`"));
    return settings;
  }
  for (const auto& [name, value] : named.entries()) settings.push_back({path, value, name});
  return settings;
}

std::vector<Setting> read_values(const std::string& path, const Config& node, Diagnostics& errors) {
  std::vector<Setting> settings;
  if (node.is_sequence() && node.size() > 0) {
    for (std::size_t i = 0; i < node.size(); ++i) settings.push_back({path, node.at(i), value_text(node.at(i))});
  } else if (node.is_map() && node.find("named")) {
    return named_values(path, node, errors);
  } else if (node.is_map()) {
    for (const Config& value : range_values(node, errors)) settings.push_back({path, value, value.scalar()});
  } else {
    errors.add(node.mistake("expected a list of values, {from, to, steps, scale, integer}, or {named: {…}}"));
  }
  return settings;
}

Axis read_pairs(const Config& node, Diagnostics& errors) {
  Axis axis;
  if (!node.is_map() || node.size() < 2) {
    errors.add(node.mistake("expected two or more keys whose values go together, like `{fleet[0].gpu: [a, b], fleet[0].replicas: [1, 2]}`"));
    return axis;
  }
  for (const auto& [path, values] : node.entries()) {
    const std::vector<Setting> settings = read_values(path, values, errors);
    if (settings.empty()) continue;  // a mistake of its own
    if (axis.steps.empty()) axis.steps.resize(settings.size());
    if (settings.size() != axis.steps.size()) {
      errors.add(values.mistake(fmt::format("has {} values, the first key of its pairing has {}", settings.size(), axis.steps.size())));
      continue;
    }
    for (std::size_t i = 0; i < settings.size(); ++i) axis.steps[i].push_back(settings[i]);
  }
  return axis;
}

void check_swept_once(const std::vector<Axis>& axes, Diagnostics& errors) {
  std::set<std::string> seen;
  for (const Axis& axis : axes) {
    if (axis.steps.empty()) continue;
    for (const Setting& setting : axis.steps.front()) {
      if (!seen.insert(setting.path).second) errors.add(setting.value.mistake(fmt::format("`{}` is swept twice", setting.path)));
    }
  }
}

std::vector<Axis> read_axes(const Config& node, Diagnostics& errors) {
  std::vector<Axis> axes;
  if (!node.is_map()) {
    errors.add(node.mistake("expected key paths with lists of values, like `engine.max_num_seqs: [32, 64]`"));
    return axes;
  }
  for (const auto& [path, values] : node.entries()) {
    if (path == "skip") continue;
    if (path == "paired") {
      const bool several = values.is_sequence() && values.size() > 0;
      if (!several) axes.push_back(read_pairs(values, errors));
      for (std::size_t i = 0; several && i < values.size(); ++i) axes.push_back(read_pairs(values.at(i), errors));
      continue;
    }
    Axis axis;
    for (Setting& setting : read_values(path, values, errors)) axis.steps.push_back({std::move(setting)});
    axes.push_back(std::move(axis));
  }
  check_swept_once(axes, errors);
  return axes;
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
    if (points.size() * axis.steps.size() > most_points) {
      throw ConfigError(document.find("sweep")->mistake(fmt::format("more than {} points", most_points)));
    }
    std::vector<ScenarioPoint> product;
    for (const ScenarioPoint& point : points) {
      for (const std::vector<Setting>& step : axis.steps) {
        ScenarioPoint next = point;
        for (const Setting& setting : step) {
          next.document = next.document.with(setting.path, setting.value);
          next.values.emplace_back(setting.path, setting.text);
          next.label += fmt::format("{}{}={}", next.label.empty() ? "" : ", ", setting.path, setting.text);
        }
        product.push_back(std::move(next));
      }
    }
    points = std::move(product);
  }
  return points;
}

}  // namespace ridgeline
