// Small helpers of the loader.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "sim/base/config.hpp"

namespace ridgeline {

/// Runs `action`; the mistakes it throws are added to `errors`, placed at `node` where they have no place of their own.
template <class Action>
void adopt_mistakes(Diagnostics& errors, const Config& node, Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const ConfigError& error) {
    for (Diagnostic diagnostic : error.diagnostics()) {
      if (diagnostic.where.file.empty()) {
        diagnostic.where = node.where();
        diagnostic.key = node.path();
      }
      errors.add(std::move(diagnostic));
    }
  }
}

/// A size whose key already says bytes: `kv_cache_memory_bytes: 38654705664`, or with a unit as everywhere.
std::optional<Bytes> maybe_bytes(MapReader& reader, std::string_view key);

/// A file named in a scenario: relative to the scenario's folder, else to the working directory. Unchanged when neither exists.
std::string find_file(const std::string& name, const SourceLocation& named_in);

/// True for what can only be a path: has a '/', or one of `endings`.
bool looks_like_path(const std::string& text, std::initializer_list<std::string_view> endings);

}  // namespace ridgeline
