#include "scenarios/sweep/skip_rules.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/flatten.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/load/reading.hpp"

namespace ridgeline {

namespace {

using Facts = std::map<std::string, Value>;

Value value_of(const Config& leaf) {
  const nlohmann::ordered_json json = to_json(leaf);
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number()) return json.get<double>();
  return leaf.is_scalar() ? leaf.scalar() : std::string();
}

// Puts the leaves of `node` under `prefix`, replacing what stands there.
void put(Facts& facts, const Config& node, const std::string& prefix) {
  for (const auto& [path, leaf] : flatten(node)) {
    if (leaf.is_null()) continue;  // a key without a value
    const std::string key = path.empty() ? prefix : prefix.empty() ? path : prefix + "." + path;
    facts[key] = value_of(leaf);
  }
}

void put_model(Facts& facts, const ModelSpec& model) {
  facts["model.num_attention_heads"] = static_cast<double>(model.heads);
  std::int64_t kv_heads = 0;
  for (const LayerSpec& layer : model.layers) kv_heads = std::max(kv_heads, layer.kv_heads);
  facts["model.num_key_value_heads"] = static_cast<double>(kv_heads);
  facts["model.num_hidden_layers"] = static_cast<double>(model.layers.size());
  facts["model.hidden_size"] = static_cast<double>(model.hidden);
}

void put_gpu(Facts& facts, const GpuSpec& gpu) { facts["gpu.memory_gib"] = gpu.memory_visible.as_double() * 0x1p-30; }

// One set of facts a pool: what is written (`workload.request_rate`), and over it what it came to.
std::vector<Facts> facts_of(const Config& document, const Scenario& scenario) {
  Facts common;
  put(common, document, "");
  put(common, scenario.resolved, "");
  common["gpus"] = static_cast<double>(scenario.gpus());
  std::vector<Facts> all;
  for (std::size_t i = 0; i < scenario.fleet.size(); ++i) {
    const Pool& pool = scenario.fleet[i];
    Facts facts = common;
    put(facts, scenario.resolved.find("fleet")->at(i), "");
    if (pool.model) put_model(facts, *pool.model);
    if (pool.gpu) put_gpu(facts, *pool.gpu);
    all.push_back(std::move(facts));
  }
  return all;
}

// Of a point that can't be resolved: what is written, and what catalogs say of the model and GPU it names.
std::vector<Facts> facts_of(const Config& document) {
  Facts common;
  put(common, document, "");
  const auto fleet = document.find("fleet");
  std::vector<Facts> all;
  for (std::size_t i = 0; fleet && fleet->is_sequence() && i < fleet->size(); ++i) {
    Facts facts = common;
    put(facts, fleet->at(i), "");
    const auto name_of = [&](const char* key) {
      const auto found = facts.find(key);
      return found != facts.end() && std::holds_alternative<std::string>(found->second) ? std::get<std::string>(found->second) : std::string();
    };
    // A name that leads nowhere is the reason why the point is infeasible, and is reported as that.
    Diagnostics ignored;
    adopt_mistakes(ignored, document, [&] { put_model(facts, load_model(find_file(name_of("model"), document.where()))); });
    adopt_mistakes(ignored, document, [&] { put_gpu(facts, load_gpu(find_file(name_of("gpu"), document.where()))); });
    all.push_back(std::move(facts));
  }
  if (all.empty()) all.push_back(std::move(common));
  return all;
}

std::optional<SkipRule> read_rule(const Config& node, Diagnostics& errors) {
  std::string when;
  std::string reason;
  if (node.is_map()) {
    MapReader reader(node, errors);
    when = reader.require<std::string>("when");
    reason = reader.get<std::string>("because", "");
    reader.done();
  } else if (node.is_scalar()) {
    when = node.scalar();
  } else {
    errors.add(node.mistake("expected a condition, or {when, because}"));
  }
  if (when.empty()) return std::nullopt;
  std::optional<SkipRule> rule;
  const Config at = node.find("when").value_or(node);
  adopt_mistakes(errors, at, [&] { rule = SkipRule{Expression::parse(when), reason.empty() ? when : reason, at}; });
  return rule;
}

}  // namespace

std::vector<SkipRule> read_skip_rules(const Config& document) {
  std::vector<SkipRule> rules;
  const auto sweep = document.find("sweep");
  const auto skip = sweep ? sweep->find("skip") : std::nullopt;
  if (!skip || skip->is_null()) return rules;
  Diagnostics errors;
  if (!skip->is_sequence()) errors.add(skip->mistake("expected a list of conditions, like `- engine.tensor_parallel_size > 4`"));
  for (std::size_t i = 0; skip->is_sequence() && i < skip->size(); ++i) {
    if (std::optional<SkipRule> rule = read_rule(skip->at(i), errors)) rules.push_back(std::move(*rule));
  }
  errors.throw_if_any();
  return rules;
}

std::optional<std::string> SkipJudge::reason(const ScenarioPoint& point, const Scenario* resolved) {
  if (rules_.empty()) return std::nullopt;
  const std::vector<Facts> pools = resolved != nullptr ? facts_of(point.document, *resolved) : facts_of(point.document);
  for (const Facts& facts : pools) {
    for (const auto& [key, value] : facts) {
      const auto place = std::lower_bound(known_.begin(), known_.end(), key);
      if (place == known_.end() || *place != key) known_.insert(place, key);
    }
  }
  for (const SkipRule& rule : rules_) {
    for (const Facts& facts : pools) {
      Diagnostics errors;
      std::optional<bool> holds;
      adopt_mistakes(errors, rule.at, [&] {
        holds = rule.when.holds([&](const std::string& key) {
          const auto found = facts.find(key);
          return found == facts.end() ? std::nullopt : std::optional(found->second);
        });
      });
      errors.throw_if_any();
      if (holds.value_or(false)) return rule.reason;
    }
  }
  return std::nullopt;
}

void SkipJudge::check_keys() const {
  Diagnostics errors;
  for (const SkipRule& rule : rules_) {
    for (const std::string& key : rule.when.keys()) {
      if (std::binary_search(known_.begin(), known_.end(), key)) continue;
      errors.add(rule.at.mistake(fmt::format("no point has a key `{}`{} (text stands in quotes)", key, suggestion(key, known_))));
    }
  }
  errors.throw_if_any();
}

std::vector<ScenarioPoint> expand_unskipped(const Config& document) {
  std::vector<ScenarioPoint> points = expand(document);
  SkipJudge judge(read_skip_rules(document));
  if (judge.empty()) return points;
  std::vector<ScenarioPoint> kept;
  for (ScenarioPoint& point : points) {
    std::optional<Scenario> scenario;
    Diagnostics ignored;  // of points that nobody wants; the others are resolved, and their mistakes reported, later
    adopt_mistakes(ignored, point.document, [&] { scenario = resolve_scenario(point.document); });
    if (!judge.reason(point, scenario ? &*scenario : nullptr)) kept.push_back(std::move(point));
  }
  judge.check_keys();
  return kept;
}

}  // namespace ridgeline
