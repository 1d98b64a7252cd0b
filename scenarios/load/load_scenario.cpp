#include "scenarios/load/load_scenario.hpp"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/reading.hpp"
#include "scenarios/load/resolve_pool.hpp"
#include "scenarios/load/resolved_document.hpp"
#include "scenarios/load/router_config.hpp"

namespace ridgeline {

namespace {

using Place = std::tuple<std::string, int, int>;

Place place_of(const SourceLocation& where) { return {where.file, where.line, where.column}; }

void index_paths(const Config& node, std::map<Place, std::string>& paths) {
  paths.emplace(place_of(node.where()), node.path());
  if (node.is_map()) {
    for (const auto& [key, child] : node.entries()) index_paths(child, paths);
  } else if (node.is_sequence()) {
    for (std::size_t i = 0; i < node.size(); ++i) index_paths(node.at(i), paths);
  }
}

// A default that several pools share is one mistake, under the key where it was written.
Diagnostics as_written(const std::vector<Diagnostic>& found, const Config& document) {
  std::map<Place, std::string> paths;
  index_paths(document, paths);
  std::set<std::pair<Place, std::string>> seen;
  Diagnostics tidy;
  for (Diagnostic diagnostic : found) {
    if (!seen.emplace(place_of(diagnostic.where), diagnostic.message).second) continue;
    const auto written = paths.find(place_of(diagnostic.where));
    const bool of_pool = diagnostic.key.starts_with("fleet[");
    if (of_pool && written != paths.end() && !written->second.starts_with("fleet") && !written->second.empty()) {
      diagnostic.key = diagnostic.key.substr(diagnostic.key.find('.') + 1);
    }
    tidy.add(std::move(diagnostic));
  }
  return tidy;
}

CostConfig read_cost(const std::optional<Config>& node, Diagnostics& errors) {
  CostConfig cost;
  if (!node || node->is_null()) return cost;
  MapReader reader(*node, errors);
  const std::string model = reader.choice("model", "roofline", {"roofline", "table", "constant"});
  cost.kind = model == "constant" ? CostKind::constant : model == "table" ? CostKind::table : CostKind::roofline;
  if (cost.kind == CostKind::constant) {
    cost.step_time = reader.require<Duration>("step_time", positive);
  } else if (reader.child("step_time")) {
    reader.mistake("step_time", "only `model: constant` has a step time");
  }
  if (cost.kind == CostKind::table) {
    const std::string file = reader.require<std::string>("table");
    if (const auto table = reader.child("table")) {
      cost.table_file = find_file(file, table->where());
      if (!std::filesystem::is_regular_file(cost.table_file)) errors.add(table->mistake("no such file `" + file + "`"));
    }
  } else if (reader.child("table")) {
    reader.mistake("table", "only `model: table` reads one");
  }
  reader.done();
  return cost;
}

Slo read_slo(const std::optional<Config>& node, Diagnostics& errors) {
  Slo slo;
  if (!node || node->is_null()) return slo;
  MapReader reader(*node, errors);
  const auto limit = [&](std::string_view key) -> std::optional<Duration> {
    const auto milliseconds = reader.maybe<double>(key, {0.0, 1e9, true});
    return milliseconds ? std::optional(Duration::seconds(*milliseconds * 1e-3)) : std::nullopt;
  };
  slo.ttft = limit("ttft_ms");
  slo.tpot = limit("tpot_ms");
  slo.itl = limit("itl_ms");
  slo.e2el = limit("e2el_ms");
  slo.percentile = reader.maybe<double>("percentile");
  if (slo.percentile && *slo.percentile != 50 && *slo.percentile != 90 && *slo.percentile != 95 && *slo.percentile != 99) {
    reader.mistake("percentile", "expected one of 50, 90, 95, 99");
  }
  slo.goodput_share = reader.maybe<double>("goodput", positive_fraction);
  if (slo.percentile && slo.goodput_share) reader.mistake("goodput", "excludes `percentile`: an objective is judged one way");
  reader.done();
  if (slo.empty() && reader.node().is_map()) errors.add(node->mistake("an objective needs a limit: ttft_ms, tpot_ms, itl_ms or e2el_ms"));
  return slo;
}

// The pool with the top-level `model:` and `engine:` beneath it.
Config with_defaults(const Config& document, std::size_t index) {
  Config whole = document;
  const std::string pool = fmt::format("fleet[{}]", index);
  const Config written = document.find("fleet")->at(index);
  if (!written.is_map()) return written;
  if (const auto model = document.find("model"); model && !written.find("model")) whole = whole.with(pool + ".model", *model);
  if (const auto engine = document.find("engine"); engine && engine->is_map()) {
    const Config own = written.find("engine").value_or(Config());
    if (own.is_null() || own.is_map()) whole = whole.with(pool + ".engine", own.is_map() ? engine->merged(own) : *engine);
  }
  return whole.find("fleet")->at(index);
}

std::vector<ResolvedPool> read_fleet(const Config& document, MapReader& reader, const CostConfig& cost, Diagnostics& errors,
                                     std::vector<Diagnostic>& warnings) {
  std::vector<ResolvedPool> pools;
  const auto fleet = reader.require_child("fleet");
  if (!fleet) return pools;
  if (!fleet->is_sequence() || fleet->size() == 0) {
    errors.add(fleet->mistake("expected a list of pools, like `- {gpu: h100-sxm-80gb, replicas: 2}`"));
    return pools;
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < fleet->size(); ++i) {
    pools.push_back(resolve_pool(with_defaults(document, i), i, cost, errors, warnings));
    if (!names.insert(pools.back().pool.name).second) {
      errors.add(fleet->at(i).mistake(fmt::format("a second pool named `{}`", pools.back().pool.name)));
    }
  }
  return pools;
}

// Only full blocks are shared: a prefix that does not fill one is computed anew each time, which users take for a bug.
void warn_of_short_prefix(const Config& document, Scenario& scenario) {
  const auto& prefix = scenario.workload.shared_prefix;
  if (!prefix) return;
  const LengthConfig& tokens = prefix->tokens;
  const Tokens longest = tokens.distribution == LengthConfig::Distribution::fixed ? tokens.tokens : tokens.most;
  for (const Pool& pool : scenario.fleet) {
    if (!pool.engine.enable_prefix_caching || longest.count() >= pool.engine.block_size) continue;
    const Config at = document.find("workload")->find("shared_prefix").value_or(*document.find("workload"));
    scenario.warnings.push_back(
        {at.where(), at.path(), fmt::format("a shared prefix of {} tokens is shorter than a KV block of `{}` ({} tokens): only full "
                                            "blocks are shared, so it is never found in the cache", longest.count(), pool.name,
                                            pool.engine.block_size)});
  }
}

// The top-level defaults are read with the pools; here only their kind is checked.
void check_defaults(MapReader& reader, Diagnostics& errors) {
  if (const auto model = reader.child("model"); model && !model->is_null()) (void)read_value<std::string>(*model, errors);
  if (const auto engine = reader.child("engine"); engine && !engine->is_map() && !engine->is_null()) {
    errors.add(engine->mistake("expected a map of engine options"));
  }
}

}  // namespace

Config command_line_value(const std::string& text, const std::string& source) {
  const Config value = Config::parse(text, source);
  // A line and a column would say nothing about a single word.
  return value.is_scalar() && !value.is_quoted() ? Config::make_scalar(value.scalar(), {source, 0, 0}, "") : value;
}

Config with_override(const Config& document, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError("`--set " + assignment + "`: expected path.to.key=VALUE");
  }
  return document.with(assignment.substr(0, equals), command_line_value(assignment.substr(equals + 1), "--set " + assignment));
}

Config load_document(const std::filesystem::path& file, const LoadOptions& options) {
  Config document = Config::load(file);
  if (!document.is_map()) throw ConfigError(document.mistake("expected a scenario: a map of keys"));
  for (const std::string& assignment : options.overrides) document = with_override(document, assignment);
  if (options.seed) document = document.with("seed", Config::make_scalar(std::to_string(*options.seed), {"--seed", 0, 0}, "seed"));
  return document;
}

Scenario resolve_scenario(const Config& document) {
  Diagnostics errors;
  Scenario scenario;
  MapReader reader(document, errors);
  scenario.name = reader.get<std::string>("name", "");
  scenario.seed = static_cast<std::uint64_t>(reader.get<std::int64_t>("seed", 0, non_negative));
  check_defaults(reader, errors);
  scenario.cost = read_cost(reader.child("cost"), errors);
  scenario.router = read_router(reader.child("router"), errors);
  scenario.slo = read_slo(reader.child("slo"), errors);
  std::vector<ResolvedPool> pools = read_fleet(document, reader, scenario.cost, errors, scenario.warnings);
  if (const auto workload = reader.require_child("workload")) {
    adopt_mistakes(errors, *workload, [&] { scenario.workload = read_workload(*workload, errors); });
  }
  if (reader.child("plan")) reader.mistake("plan", "is a question for `ridgeline plan`, which `run`, `sweep` and `compare` do not answer");
  const std::optional<Config> derived = reader.child("derived");
  reader.done();
  as_written(errors.list(), document).throw_if_any();

  for (ResolvedPool& resolved : pools) {
    resolved.pool.engine.seed = scenario.seed;
    scenario.fleet.push_back(resolved.pool);
  }
  warn_of_short_prefix(document, scenario);
  scenario.resolved = resolved_document(scenario, pools);
  if (derived && to_json(*derived) != to_json(*scenario.resolved.find("derived"))) {
    scenario.warnings.push_back({derived->where(), "derived", "differs from what follows from the other keys, which is what counts"});
  }
  return scenario;
}

Scenario load_scenario(const std::filesystem::path& file, const LoadOptions& options) {
  const Config document = load_document(file, options);
  const std::vector<ScenarioPoint> points = expand(document);
  if (points.size() > 1) {
    throw ConfigError(Diagnostic{{file.string()}, {}, fmt::format("describes {} scenarios; use `ridgeline sweep` or `ridgeline compare`",
                                                                  points.size())});
  }
  return resolve_scenario(points.front().document);
}

}  // namespace ridgeline
