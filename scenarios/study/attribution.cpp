#include "scenarios/study/attribution.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/study/metric.hpp"
#include "scenarios/study/replications.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

// A place in a document and what stands there; null where nothing does.
struct Key {
  std::string name;
  Json::json_pointer at;
  std::optional<Json> value;
};

Json merged(const Json& base, const Json& overlay) {
  if (!base.is_object() || !overlay.is_object()) return overlay;
  Json result = base;
  for (const auto& [key, value] : overlay.items()) result[key] = result.contains(key) ? merged(result[key], value) : value;
  return result;
}

// The document with what may be written in several ways written in one: `model:` and `engine:` in the pools, the rest as resolved.
Json normal_form(const StudiedScenario& side) {
  const Json written = to_json(side.document);
  const Json resolved = to_json(side.scenario.resolved);
  Json form;
  form["fleet"] = Json::array();
  for (const Json& pool : written.at("fleet")) {
    Json whole = pool;
    whole.erase("name");
    if (written.contains("model") && !whole.contains("model")) whole["model"] = written["model"];
    Json engine = written.value("engine", Json());
    if (!engine.is_object()) engine = Json::object();
    if (const auto own = whole.find("engine"); own != whole.end() && own->is_object()) engine = merged(engine, *own);
    whole["engine"] = engine;
    form["fleet"].push_back(whole);
  }
  for (const char* key : {"router", "workload", "slo", "cost"}) {
    if (resolved.contains(key)) form[key] = resolved[key];
  }
  return form;
}

void collect(const Json& node, const std::string& name, const Json::json_pointer& at, const std::vector<std::string>& opened, std::vector<Key>& keys) {
  for (const auto& [key, value] : node.items()) {
    const std::string path = name.empty() ? key : name + "." + key;
    if (std::find(opened.begin(), opened.end(), key) != opened.end() && value.is_object()) collect(value, path, at / key, {}, keys);
    else keys.push_back({path, at / key, value});
  }
}

std::vector<Key> keys_of(const Json& form, bool fleet_as_one) {
  std::vector<Key> keys;
  if (fleet_as_one) keys.push_back({"fleet", Json::json_pointer("/fleet"), form["fleet"]});
  for (std::size_t i = 0; !fleet_as_one && i < form["fleet"].size(); ++i) {
    collect(form["fleet"][i], fmt::format("fleet[{}]", i), Json::json_pointer("/fleet") / i, {"engine"}, keys);
  }
  Json rest = form;
  rest.erase("fleet");
  collect(rest, "", Json::json_pointer(), {"workload", "slo", "cost", "router"}, keys);
  return keys;
}

std::string shown(const std::optional<Json>& value) {
  if (!value) return "(default)";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

struct Change {
  Key key;                   // where, and its value in `from`
  std::optional<Json> wanted;  // in `to`
};

std::vector<Change> changes_between(const Json& from, const Json& to) {
  const bool fleet_as_one = from["fleet"].size() != to["fleet"].size();
  std::vector<Key> before = keys_of(from, fleet_as_one);
  const std::vector<Key> after = keys_of(to, fleet_as_one);
  const auto named = [](const std::vector<Key>& keys, const std::string& name) {
    return std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
  };
  for (const Key& key : after) {
    if (named(before, key.name) == before.end()) before.push_back({key.name, key.at, std::nullopt});
  }
  std::vector<Change> changes;
  for (const Key& key : before) {
    const auto other = named(after, key.name);
    const std::optional<Json> wanted = other == after.end() ? std::nullopt : other->value;
    if (wanted != key.value) changes.push_back({key, wanted});
  }
  return changes;
}

Json changed(Json form, const Change& change) {
  if (change.wanted) form[change.key.at] = *change.wanted;
  else form[change.key.at.parent_pointer()].erase(change.key.at.back());
  return form;
}

// The resolved scenario without what only names it.
Json essence(const Scenario& scenario) {
  Json json = to_json(scenario.resolved);
  for (const char* key : {"name", "seed"}) json.erase(key);
  for (Json& pool : json["fleet"]) pool.erase("name");
  json.erase("derived");
  return json;
}

// Samples of every metric; empty where a run lacks it.
using Samples = std::vector<std::vector<double>>;

Samples samples_of(const Scenario& scenario, const std::vector<RunResult>& runs) {
  Samples samples;
  for (const Metric& metric : metrics()) samples.push_back(values_of(metric, scenario, runs));
  return samples;
}

MetricEstimates estimate_differences(const Samples& from, const Samples& to) {
  MetricEstimates estimates;
  for (std::size_t m = 0; m < from.size(); ++m) {
    const bool both = !from[m].empty() && !to[m].empty();
    estimates.push_back(both ? std::optional(estimate_difference(from[m], to[m])) : std::nullopt);
  }
  return estimates;
}

// (to - from) - sum of (changed - from), replication by replication.
MetricEstimates estimate_remainder(const Samples& from, const Samples& to, const std::vector<Samples>& changed_alone) {
  MetricEstimates estimates;
  for (std::size_t m = 0; m < from.size(); ++m) {
    bool known = !from[m].empty() && !to[m].empty();
    for (const Samples& alone : changed_alone) known = known && !alone[m].empty();
    if (!known) {
      estimates.emplace_back();
      continue;
    }
    std::vector<double> remainder;
    for (std::size_t i = 0; i < from[m].size(); ++i) {
      double rest = to[m][i] - from[m][i];
      for (const Samples& alone : changed_alone) rest -= alone[m][i] - from[m][i];
      remainder.push_back(rest);
    }
    estimates.emplace_back(estimate(remainder));
  }
  return estimates;
}

}  // namespace

MetricEstimates differences(const StudiedScenario& from, const StudiedScenario& to) {
  return estimate_differences(samples_of(from.scenario, from.runs), samples_of(to.scenario, to.runs));
}

Attribution attribute(const StudiedScenario& from, const StudiedScenario& to, std::size_t jobs, const std::function<void()>& done) {
  Attribution attribution;
  const Json form = normal_form(from);
  const Samples from_samples = samples_of(from.scenario, from.runs);
  const Samples to_samples = samples_of(to.scenario, to.runs);
  const std::vector<Change> changes = changes_between(form, normal_form(to));
  std::vector<Samples> changed_alone;
  for (const Change& change : changes) {
    KeyEffect effect{.key = change.key.name, .from = shown(change.key.value), .to = shown(change.wanted)};
    try {
      const Scenario scenario = with_seed(resolve_scenario(to_config(changed(form, change), from.document.where().file)), from.scenario.seed);
      if (essence(scenario) == essence(from.scenario)) continue;  // the default, written out
      const bool whole_difference = essence(scenario) == essence(to.scenario);
      const auto runs = whole_difference ? to.runs : replicate(scenario, 0, from.runs.size(), jobs, [&](std::size_t) { if (done) done(); });
      changed_alone.push_back(samples_of(scenario, runs));
      effect.effects = estimate_differences(from_samples, changed_alone.back());
    } catch (const ConfigError& error) {
      effect.obstacle = error.diagnostics().front().message;
    }
    attribution.keys.push_back(std::move(effect));
  }
  attribution.remainder = estimate_remainder(from_samples, to_samples, changed_alone);
  return attribution;
}

}  // namespace ridgeline
