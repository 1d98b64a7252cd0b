// Finding a catalog entry: an embedded file by name, or a YAML file of the user's by path.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/base/config.hpp"
#include "sim/base/embedded.hpp"

namespace ridgeline {

/// A parsed entry and the name it was asked for (for a file: its stem).
struct CatalogEntry {
  Config node;
  std::string name;
};

/// `name_or_path` is a path when it holds '/' or ends in .yaml or .yml. `what` names the kind in messages ("GPU").
/// Throws ConfigError: unknown name with near matches, missing or malformed file.
CatalogEntry find_catalog_entry(std::span<const EmbeddedFile> files, const std::string& name_or_path, const std::string& what);

/// Names of the embedded files, sorted.
std::vector<std::string> catalog_names(std::span<const EmbeddedFile> files);

bool looks_like_path(const std::string& name_or_path);

}  // namespace ridgeline
