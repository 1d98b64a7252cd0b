#include "scenarios/plan/configuration.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "hardware/calibration.hpp"
#include "models/model_spec.hpp"
#include "models/shard.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/load/reading.hpp"
#include "scenarios/load/resolve_pool.hpp"

namespace ridgeline {

namespace {

constexpr std::size_t most_configurations = 10'000;
constexpr const char* degree_key = "tensor_parallel_size";

Config scalar(const std::string& text, const SourceLocation& where) { return Config::make_scalar(text, where, ""); }

// GPUs whose prices and operators we know best.
std::vector<GpuOffer> default_offers(const SourceLocation& where) {
  std::vector<GpuOffer> offers;
  const std::vector<std::string> calibrated = calibration_names();
  for (const std::string& name : gpu_names()) {
    if (load_gpu(name).price && std::find(calibrated.begin(), calibrated.end(), name) != calibrated.end()) offers.push_back({.gpu = scalar(name, where)});
  }
  return offers;
}

// Powers of two that the model allows and one node holds.
std::vector<Config> default_degrees(const ModelSpec& model, const GpuOffer& offer, const SourceLocation& where) {
  const GpuSpec gpu = load_gpu(offer.gpu.scalar());
  const int node = offer.node ? load_node(offer.node->scalar()).gpus_per_node : default_node(gpu).gpus_per_node;
  const std::vector<int> allowed = valid_tensor_parallel_sizes(model);
  std::vector<Config> degrees;
  for (int degree = 1; degree <= node; degree *= 2) {
    if (std::find(allowed.begin(), allowed.end(), degree) != allowed.end()) degrees.push_back(scalar(std::to_string(degree), where));
  }
  return degrees;
}

bool given_in_engine(const Config& document, const std::string& key) {
  const auto engine = document.find("engine");
  return engine && engine->is_map() && engine->find(key).has_value();
}

std::string axis_label(const std::string& key, const std::string& value) {
  return key == degree_key ? (value == "1" ? "" : " TP" + value) : fmt::format(" {}={}", key, value);
}

struct Combination {
  std::string label;
  Config engine;
};

std::vector<Combination> combinations(const std::vector<EngineAxis>& axes, const SourceLocation& where) {
  std::vector<Combination> all{{"", Config::make_map(where, "")}};
  for (const auto& [key, values] : axes) {
    std::vector<Combination> product;
    for (const Combination& combination : all) {
      for (const Config& value : values) {
        const std::string text = value.is_scalar() ? value.scalar() : value.to_yaml();
        const std::string label = values.size() > 1 || key == degree_key ? axis_label(key, text) : "";
        product.push_back({combination.label + label, combination.engine.with(key, value)});
      }
    }
    all = std::move(product);
    if (all.size() > most_configurations) throw ConfigError(Diagnostic{where, "plan.candidates", fmt::format("more than {} combinations", most_configurations)});
  }
  return all;
}

// True when nothing but memory stands in the way.
bool only_memory(const Config& document) {
  Diagnostics errors;
  std::vector<Diagnostic> warnings;
  const Config engine = document.find("engine").value_or(Config());
  Config pool = document.find("fleet")->at(0);
  if (const auto model = document.find("model"); model && !pool.find("model")) pool = pool.with("model", *model);
  if (engine.is_map()) pool = pool.with("engine", engine.merged(*pool.find("engine")));
  const ResolvedPool resolved = resolve_pool(pool, 0, CostConfig{}, errors, warnings, FitRule::warn);
  return errors.empty() && resolved.pool.memory && !resolved.pool.memory->fits();
}

void resolve(const Config& document, Configuration& configuration) {
  const Config whole = document.with("fleet", Config::parse("[null]", "")).with("fleet[0]", configuration.pool);
  try {
    configuration.scenario = resolve_scenario(whole);
  } catch (const ConfigError& error) {
    configuration.why = error.diagnostics();
    configuration.refusal = only_memory(whole) ? Refusal::memory : Refusal::impossible;
  }
}

void set_price(const GpuOffer& offer, Configuration& configuration) {
  configuration.max_gpus = offer.max_gpus;
  if (configuration.refusal != Refusal::none) return;
  const Pool& replica = configuration.replica();
  const auto gpus = static_cast<double>(replica.gpus());
  const DollarsPerHour price = replica.price_per_gpu_hour.value_or(DollarsPerHour{});
  configuration.price_low = offer.price_low.value_or(price) * gpus;
  configuration.price_high = offer.price_high.value_or(price) * gpus;
}

Config pool_map(const GpuOffer& offer, const Combination& combination, const SourceLocation& where) {
  Config pool = Config::make_map(where, "").with("gpu", offer.gpu);
  if (offer.node) pool = pool.with("node", *offer.node);
  if (offer.calibration) pool = pool.with("calibration", *offer.calibration);
  if (offer.price_low) {
    const double middle = (offer.price_low->count() + offer.price_high->count()) / 2;
    pool = pool.with("price_per_gpu_hour", scalar(fmt::format("{} USD/h", middle), where));
  }
  return pool.with("engine", combination.engine);
}

// What sets it apart, and the degree in any case.
std::string label_of(const GpuOffer& offer, const Combination& combination, const Configuration& configuration) {
  const bool fixed_degree = !combination.engine.find(degree_key) && configuration.refusal == Refusal::none;
  const std::string degree = fixed_degree ? axis_label(degree_key, std::to_string(configuration.replica().tensor_parallel_size)) : "";
  return offer.gpu.scalar() + degree + combination.label;
}

// A mistake that no configuration escapes is the user's; memory is left to the goal, which knows what to advise.
void throw_shared_mistakes(const std::vector<Configuration>& all) {
  Diagnostics errors;
  std::set<std::string> seen;
  for (const Configuration& configuration : all) {
    if (configuration.refusal != Refusal::impossible) return;
    for (const Diagnostic& diagnostic : configuration.why) {
      if (seen.insert(to_string(diagnostic)).second) errors.add(diagnostic);
    }
  }
  errors.throw_if_any();
}

}  // namespace

std::vector<Configuration> configurations(const Config& document, const PlanRequest& request) {
  const bool chosen_degree = std::any_of(request.engine.begin(), request.engine.end(), [](const EngineAxis& axis) { return axis.first == degree_key; });
  const std::vector<GpuOffer> offers = request.gpus.empty() ? default_offers(request.where) : request.gpus;
  const auto model_name = document.find("model");
  std::optional<ModelSpec> model;
  if (model_name && model_name->is_scalar()) {
    const std::string& name = model_name->scalar();
    Diagnostics errors;
    adopt_mistakes(errors, *model_name, [&] { model = load_model(looks_like_path(name, {".json"}) ? find_file(name, model_name->where()) : name); });
    errors.throw_if_any();
  }
  std::vector<Configuration> all;
  for (const GpuOffer& offer : offers) {
    std::vector<EngineAxis> axes = request.engine;
    if (!chosen_degree && !given_in_engine(document, degree_key) && model) {
      axes.insert(axes.begin(), {degree_key, default_degrees(*model, offer, request.where)});
    }
    for (const Combination& combination : combinations(axes, request.where)) {
      Configuration configuration;
      configuration.pool = pool_map(offer, combination, request.where);
      resolve(document, configuration);
      configuration.label = label_of(offer, combination, configuration);
      set_price(offer, configuration);
      all.push_back(std::move(configuration));
    }
  }
  throw_shared_mistakes(all);
  return all;
}

Scenario scenario_of_fleet(const std::vector<std::pair<const Configuration*, int>>& fleet) {
  Scenario scenario = fleet.front().first->scenario;
  scenario.fleet.clear();
  for (const auto& [configuration, replicas] : fleet) {
    Pool pool = configuration->replica();
    pool.replicas = replicas;
    pool.name = fmt::format("pool-{}", scenario.fleet.size());
    scenario.fleet.push_back(std::move(pool));
  }
  return scenario;
}

}  // namespace ridgeline
