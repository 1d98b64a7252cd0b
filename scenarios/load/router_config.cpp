#include "scenarios/load/router_config.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "scenarios/load/reading.hpp"
#include "scenarios/report/decimal.hpp"
#include "sim/routing/builtin.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

// How one parameter is read and written.
struct Parameter {
  const char* name;
  std::function<void(MapReader&, RouterConfig&)> read;
  std::function<Json(const RouterConfig&)> written;
};

template <class T>
Parameter parameter(const char* name, T RouterConfig::*field, Range range) {
  return {name,
          [=](MapReader& map, RouterConfig& router) { router.*field = map.get<T>(name, router.*field, range); },
          [=](const RouterConfig& router) { return Json(router.*field); }};
}

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> rows{
      parameter("queue_weight", &RouterConfig::queue_weight, non_negative),
      parameter("kv_weight", &RouterConfig::kv_weight, non_negative),
      parameter("prefix_weight", &RouterConfig::prefix_weight, non_negative),
      {"metrics_interval",
       [](MapReader& map, RouterConfig& router) {
         router.metrics_interval = map.get<Duration>("metrics_interval", router.metrics_interval, positive);
       },
       [](const RouterConfig& router) { return Json(seconds_text(router.metrics_interval) + " s"); }},
      parameter("block_size", &RouterConfig::block_size, {1, 131'072}),
      parameter("cache_threshold", &RouterConfig::cache_threshold, fraction),
      parameter("balance_abs_threshold", &RouterConfig::balance_abs_threshold, non_negative),
      parameter("balance_rel_threshold", &RouterConfig::balance_rel_threshold, at_least_one),
      parameter("kv_overlap_score_weight", &RouterConfig::kv_overlap_score_weight, non_negative),
      parameter("router_temperature", &RouterConfig::router_temperature, non_negative),
  };
  return rows;
}

// The policy's parameters; none for one that does not exist, which has been complained of.
std::vector<std::string> parameters_of(const std::string& policy) {
  for (const auto& row : routers()) {
    if (row.name == policy) return row.parameters;
  }
  return {};
}

}  // namespace

RouterConfig read_router(const std::optional<Config>& node, Diagnostics& errors) {
  RouterConfig router;
  if (!node || node->is_null()) return router;
  if (node->is_scalar()) {
    router.policy = node->scalar();
    adopt_mistakes(errors, *node, [&] { (void)find_row(routers(), router.policy, "router"); });
    return router;
  }
  MapReader reader(*node, errors);
  router.policy = reader.get<std::string>("policy", router.policy);
  adopt_mistakes(errors, node->find("policy").value_or(*node), [&] { (void)find_row(routers(), router.policy, "router"); });
  const std::vector<std::string> own = parameters_of(router.policy);
  for (const Parameter& parameter : parameters()) {
    if (std::find(own.begin(), own.end(), parameter.name) != own.end()) {
      parameter.read(reader, router);
    } else if (reader.child(parameter.name)) {
      reader.mistake(parameter.name, fmt::format("the policy `{}` has no such parameter", router.policy));
    }
  }
  reader.done();
  return router;
}

nlohmann::ordered_json router_json(const RouterConfig& router) {
  Json json;
  json["policy"] = router.policy;
  for (const std::string& name : parameters_of(router.policy)) {
    for (const Parameter& parameter : parameters()) {
      if (parameter.name == name) json[name] = parameter.written(router);
    }
  }
  return json;
}

}  // namespace ridgeline
