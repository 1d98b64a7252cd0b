#include "hardware/catalog_text.hpp"

#include <algorithm>
#include <filesystem>

namespace ridgeline {

bool looks_like_path(const std::string& name_or_path) {
  return name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml") || name_or_path.ends_with(".yml");
}

std::vector<std::string> catalog_names(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

CatalogEntry find_catalog_entry(std::span<const EmbeddedFile> files, const std::string& name_or_path, const std::string& what) {
  if (looks_like_path(name_or_path)) {
    return {Config::load(name_or_path), std::filesystem::path(name_or_path).stem().string()};
  }
  for (const EmbeddedFile& file : files) {
    if (file.name == name_or_path) return {Config::parse(file.text, name_or_path + ".yaml (catalog)"), name_or_path};
  }
  throw ConfigError("unknown " + what + " `" + name_or_path + "`" + suggestion(name_or_path, catalog_names(files)));
}

}  // namespace ridgeline
