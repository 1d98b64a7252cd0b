// `router:`, a policy's name or a map with its parameters.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "sim/base/config.hpp"
#include "sim/serving/router.hpp"

namespace ridgeline {

/// A parameter that the policy does not have is a mistake, as is a policy that does not exist.
RouterConfig read_router(const std::optional<Config>& node, Diagnostics& errors);

/// The policy with its parameters, readable by `read_router`.
nlohmann::ordered_json router_json(const RouterConfig& router);

}  // namespace ridgeline
