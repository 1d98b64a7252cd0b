// A scheduler test case as a scenario: a folder with config.json (engine flags, constant step time) and requests.csv.
#pragma once

#include <filesystem>

#include "sim/base/config.hpp"

namespace ridgeline {

/// The document for resolve_scenario: one replica, `cost: constant`, the folder's requests at their times.
/// Throws ConfigError when config.json can't be read or names an unknown engine.
Config schedule_case_document(const std::filesystem::path& folder);

}  // namespace ridgeline
