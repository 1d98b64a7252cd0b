// The models that ship with the program: one YAML file each under models/catalog/, compiled in and parsed on demand.
#pragma once

#include <optional>
#include <string>

#include "models/model_spec.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

/// Reads one catalog file. Strict: unknown keys are mistakes, and every dimension must be there.
ModelSpec parse_catalog_model(const Config& file, const std::string& name, Diagnostics& errors);

/// nullopt when the catalog has no such model.
std::optional<ModelSpec> find_catalog_model(const std::string& name);

}  // namespace ridgeline
