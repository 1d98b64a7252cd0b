#include "scenarios/load/resolve_speculation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "hardware/csv_table.hpp"
#include "models/precision.hpp"
#include "scenarios/load/reading.hpp"

namespace ridgeline {

namespace {

const std::vector<std::string> methods{"ngram", "draft_model", "eagle", "eagle3", "mtp", "medusa"};

constexpr int most_tokens = 256;
constexpr std::int64_t eagle3_vocab = 32000;  // draft_vocab_size of the published EAGLE-3 heads for Llama 3 and Qwen3

/// Positions at which a draft can be accepted.
int depth_of(const SpeculationConfig& config) {
  return config.tree_depth > 0 ? std::min(config.tree_depth, config.num_speculative_tokens) : config.num_speculative_tokens;
}

/// c_i = p_i / p_(i-1), of unconditional rates that never rise.
std::vector<double> conditional(const std::vector<double>& unconditional) {
  std::vector<double> list;
  double before = 1.0;
  for (const double p : unconditional) {
    list.push_back(before > 0.0 ? p / before : 0.0);
    before = p;
  }
  return list;
}

bool never_rises(const std::vector<double>& list) { return std::is_sorted(list.rbegin(), list.rend()); }

double chain_length(double alpha, int depth) {
  double sum = 1.0, product = 1.0;
  for (int i = 0; i < depth; ++i) sum += product *= alpha;
  return sum;
}

/// The i.i.d. acceptance whose expected tokens per step are `length`.
double acceptance_of_length(double length, int depth) {
  double low = 0.0, high = 1.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (chain_length(middle, depth) < length ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// A measured table: `position` with `conditional` or `unconditional` rates, or a histogram `accepted`, `count`.
std::vector<double> read_table(const Config& node, int depth) {
  const std::string name = find_file(node.scalar(), node.where());
  const CsvTable table = CsvTable::load(name);
  const bool histogram = table.has("accepted") && table.has("count");
  const std::string column = histogram ? "count" : table.has("unconditional") ? "unconditional" : "conditional";
  const std::string key = histogram ? "accepted" : "position";
  if (!table.has(key) || !table.has(column)) {
    throw ConfigError(node.mistake(name + ": expected columns `position,conditional`, `position,unconditional` or `accepted,count`"));
  }
  const int first = histogram ? 0 : 1;
  std::vector<double> values(static_cast<std::size_t>(depth + 1 - first), -1.0);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvTable::Row row = table.row(i);
    const std::optional<double> at = row.number(key);
    const std::optional<double> value = row.number(column);
    const std::size_t slot = at ? static_cast<std::size_t>(*at - first) : values.size();
    const bool in_range = value && *value >= 0.0 && (histogram || *value <= 1.0);
    if (!at || *at < first || std::floor(*at) != *at || slot >= values.size() || !in_range) {
      throw ConfigError(Diagnostic{{name, row.line(), 0}, node.path(),
                                   fmt::format("expected `{}` from {} to {} and a {}", key, first, depth,
                                               histogram ? "count" : "rate between 0 and 1")});
    }
    values[slot] = *value;
  }
  if (histogram) {
    // P(at least i accepted), from the tail.
    for (double& value : values) value = std::max(value, 0.0);
    std::vector<double> at_least(values.size());
    std::partial_sum(values.rbegin(), values.rend(), at_least.rbegin());
    if (at_least.front() <= 0.0) throw ConfigError(node.mistake(name + ": the counts are all zero"));
    std::vector<double> rates;
    for (std::size_t i = 1; i < at_least.size(); ++i) rates.push_back(at_least[i] / at_least.front());
    return conditional(rates);
  }
  const auto missing = std::find_if(values.begin(), values.end(), [](double v) { return v < 0.0; });
  if (missing != values.end()) {
    throw ConfigError(node.mistake(fmt::format("{}: position {} is missing", name, missing - values.begin() + 1)));
  }
  if (column == "conditional") return values;
  if (!never_rises(values)) throw ConfigError(node.mistake(name + ": unconditional rates can't rise with the position"));
  return conditional(values);
}

void read_acceptance(MapReader& map, SpeculationConfig& config) {
  const std::vector<std::string> sources{"acceptance", "unconditional_acceptance", "mean_acceptance_length", "acceptance_table", "accepted"};
  const int depth = depth_of(config);
  const auto given = std::count_if(sources.begin(), sources.end(), [&](const std::string& key) { return map.has(key); });
  if (given != 1) {
    map.mistake(given == 0 ? "method" : "acceptance",
                "expected exactly one of `acceptance`, `unconditional_acceptance`, `mean_acceptance_length`, `acceptance_table`, `accepted`");
  }
  config.acceptance = map.list<double>("acceptance", fraction);
  if (depth > 0 && static_cast<int>(config.acceptance.size()) > depth) {
    map.mistake("acceptance", fmt::format("{} rates, but at most {} drafts are accepted at once", config.acceptance.size(), depth));
  }
  if (const std::vector<double> rates = map.list<double>("unconditional_acceptance", fraction); !rates.empty()) {
    if (depth > 0 && static_cast<int>(rates.size()) != depth) map.mistake("unconditional_acceptance", fmt::format("expected {} rates, one a position", depth));
    else if (!never_rises(rates)) map.mistake("unconditional_acceptance", "can't rise: a draft counts only when all before it were accepted");
    config.acceptance = conditional(rates);
  }
  if (const auto length = map.maybe<double>("mean_acceptance_length", {1.0, depth > 0 ? depth + 1.0 : most_tokens})) {
    config.acceptance = {acceptance_of_length(*length, depth)};
  }
  if (const auto table = map.child("acceptance_table"); table && !table->is_null()) {
    if (depth == 0) map.mistake("acceptance_table", "has no positions to read with `num_speculative_tokens: 0`");
    else if (!table->is_scalar()) map.mistake("acceptance_table", "expected the name of a CSV file");
    else adopt_mistakes(map.errors(), *table, [&] { config.acceptance = read_table(*table, depth); });
  }
  for (const std::int64_t count : map.list<std::int64_t>("accepted", {0, most_tokens})) config.accepted.push_back(static_cast<int>(count));
}

void read_tree(MapReader& map, SpeculationConfig& config) {
  const bool has_tree = config.method == "eagle" || config.method == "eagle3" || config.method == "medusa";
  for (const char* key : {"tree_depth", "tree_topk"}) {
    if (map.has(key) && !has_tree) map.mistake(key, "only eagle, eagle3 and medusa draft trees");
  }
  config.tree_depth = map.get<int>("tree_depth", 0, {1, most_tokens});
  config.tree_topk = map.get<int>("tree_topk", 1, {1, 64});
  if (map.has("tree_topk") && (config.tree_depth == 0 || config.method == "medusa")) {
    map.mistake("tree_topk", "is the width of an EAGLE drafter's passes through a tree of `tree_depth` levels");
  }
  if (config.num_speculative_tokens > 0 && config.tree_depth > config.num_speculative_tokens) {
    map.mistake("tree_depth", fmt::format("{} levels need as many nodes, `num_speculative_tokens` is {}", config.tree_depth,
                                          config.num_speculative_tokens));
  }
}

void read_rungs(MapReader& map, SpeculationConfig& config) {
  if (const auto batch = map.maybe<std::int64_t>("disable_by_batch_size", {1, 1 << 20})) config.by_batch_size = {{*batch, 0}};
  const auto node = map.child("num_speculative_tokens_by_batch_size");
  if (!node || node->is_null()) return;
  if (map.has("disable_by_batch_size")) {
    map.mistake("disable_by_batch_size", "is the same as `num_speculative_tokens_by_batch_size: {N: 0}`; leave one of them out");
  }
  if (!node->is_map()) {
    map.mistake("num_speculative_tokens_by_batch_size", "expected a map from batch size to drafts, say {16: 2, 64: 0}");
    return;
  }
  config.by_batch_size.clear();
  for (const auto& [key, value] : node->entries()) {
    const auto batch = read_value<std::int64_t>(Config::make_scalar(key, value.where(), value.path()), map.errors(), {1, 1 << 20});
    const auto tokens = read_value<std::int64_t>(value, map.errors(), {0, static_cast<double>(config.num_speculative_tokens)});
    if (batch && tokens) config.by_batch_size.push_back({*batch, static_cast<int>(*tokens)});
  }
  std::sort(config.by_batch_size.begin(), config.by_batch_size.end(), [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
  const bool cuts = std::any_of(config.by_batch_size.begin(), config.by_batch_size.end(), [&](const SpeculationConfig::Rung& rung) {
    return rung.tokens != 0 && rung.tokens != config.num_speculative_tokens;
  });
  if (config.tree_depth > 0 && cuts) {
    map.mistake("num_speculative_tokens_by_batch_size", "a tree is drafted whole or not at all; expected 0 or `num_speculative_tokens`");
  }
}

void read_drafter(MapReader& map, SpeculationKeys& keys) {
  const std::string& method = keys.config.method;
  if (method != "draft_model") {
    for (const char* key : {"model", "quantization"}) {
      if (map.has(key)) map.mistake(key, fmt::format("only `draft_model` names a model; `{}` follows from the target's dimensions", method));
    }
  }
  if (method != "eagle3" && map.has("draft_vocab_size")) map.mistake("draft_vocab_size", "only `eagle3` heads score a vocabulary of their own");
  if (method != "ngram" && map.has("match_probability")) map.mistake("match_probability", "only `ngram` may find no drafts");
  keys.draft_model = map.get<std::string>("model", "");
  if (const auto node = map.child("model"); node && looks_like_path(keys.draft_model, {".json"})) {
    keys.draft_model = find_file(keys.draft_model, node->where());
  }
  keys.quantization = map.get<std::string>("quantization", "auto");
  keys.draft_vocab_size = map.get<std::int64_t>("draft_vocab_size", method == "eagle3" ? eagle3_vocab : 0, {64, 1 << 20});
  keys.config.match_probability = map.get<double>("match_probability", 1.0, fraction);
  const auto node = map.child("host_overhead");
  if (!node || node->is_null()) return;
  MapReader host(*node, map.errors());
  keys.host = HostOverhead{host.require<Duration>("per_step", non_negative), host.require<Duration>("per_sequence", non_negative)};
  host.done();
}

}  // namespace

std::optional<SpeculationKeys> read_speculation(const std::optional<Config>& node, Diagnostics& errors) {
  if (!node || node->is_null()) return std::nullopt;
  MapReader map(*node, errors);
  SpeculationKeys keys;
  keys.config.method = map.choice("method", "", methods);
  if (!map.has("method")) map.mistake("method", "is missing; expected one of ngram, draft_model, eagle, eagle3, mtp, medusa");
  keys.config.num_speculative_tokens = map.require<int>("num_speculative_tokens", {0, most_tokens});
  read_tree(map, keys.config);
  read_acceptance(map, keys.config);
  read_rungs(map, keys.config);
  read_drafter(map, keys);
  map.done();
  return keys;
}

bool forbids_async_scheduling(const SpeculationConfig& speculation) {
  return speculation.method == "ngram" || speculation.method == "medusa" || speculation.tree_depth > 0;
}

std::optional<DrafterSpec> make_drafter_spec(const SpeculationKeys& keys, const ModelSpec& target, const std::string& dtype) {
  const SpeculationConfig& config = keys.config;
  if (config.method == "ngram") return std::nullopt;
  if (config.method == "eagle") return eagle_drafter(target);
  if (config.method == "eagle3") return eagle3_drafter(target, keys.draft_vocab_size);
  if (config.method == "mtp") return mtp_drafter(target);
  if (config.method == "medusa") return medusa_drafter(target, depth_of(config));
  if (keys.draft_model.empty()) throw ConfigError("method draft_model needs `model`: a catalog name or the path of a config.json");
  return draft_model_drafter(target, with_precision(load_model(keys.draft_model), keys.quantization, dtype));
}

double expected_tokens_per_step(const SpeculationConfig& speculation) {
  if (speculation.acceptance.empty()) return 1.0;
  double sum = 1.0, product = 1.0;
  for (int i = 0; i < depth_of(speculation); ++i) {
    sum += product *= speculation.acceptance[std::min<std::size_t>(static_cast<std::size_t>(i), speculation.acceptance.size() - 1)];
  }
  return speculation.match_probability * sum + (1.0 - speculation.match_probability);
}

}  // namespace ridgeline
