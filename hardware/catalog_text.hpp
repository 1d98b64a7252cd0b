// Finding a catalog entry: an embedded file by name, or a YAML file of the user's by path.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
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

/// Entries of a catalog, each read when first asked for and then kept: constants that happen to be written in YAML, whose
/// parsing would otherwise be most of a short run. Threads may ask at once.
template <class Value>
class CatalogEntries {
 public:
  explicit CatalogEntries(std::span<const EmbeddedFile> files) : files_(files), entries_(files.size()) {}

  [[nodiscard]] std::span<const EmbeddedFile> files() const { return files_; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].name == name) return i;
    }
    return std::nullopt;
  }
  /// `read` makes the value of a parsed document and its name.
  template <class Read>
  const Value& at(std::size_t index, Read read) {
    Entry& entry = entries_[index];
    std::call_once(entry.once, [&] {
      const std::string name(files_[index].name);
      entry.value = read(Config::parse(files_[index].text, name + ".yaml (catalog)"), name);
    });
    return entry.value;
  }

 private:
  struct Entry {
    std::once_flag once;
    Value value;
  };
  std::span<const EmbeddedFile> files_;
  std::deque<Entry> entries_;
};

}  // namespace ridgeline
