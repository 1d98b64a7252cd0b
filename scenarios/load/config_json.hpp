// Config <-> JSON: JSON is YAML, so a resolved scenario can live in a result and be run again from there.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/base/config.hpp"

namespace ridgeline {

/// Plain numbers and booleans become JSON's, everything else strings.
nlohmann::ordered_json to_json(const Config& node);

/// `source` names the document in messages about it.
Config to_config(const nlohmann::ordered_json& json, const std::string& source);

/// Text of a value; bytes that are not UTF-8 are replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace ridgeline
