// YAML -> load -> Scenario. All mistakes of a file are reported at once, each with file, line, column and key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/scenario.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

/// What the command line changes before anything is read.
struct LoadOptions {
  std::vector<std::string> overrides;  ///< "path.to.key=VALUE", the value in YAML, in order
  std::optional<std::uint64_t> seed;   ///< replaces `seed:`
};

/// Parses and applies the overrides; nothing is checked yet.
Config load_document(const std::filesystem::path& file, const LoadOptions& options = {});

/// A value from the command line, in YAML; `source` ("--gpu") names it in messages.
Config command_line_value(const std::string& text, const std::string& source);

/// Applies one "path.to.key=VALUE". Throws ConfigError when it has no '=', or the path leads nowhere.
Config with_override(const Config& document, const std::string& assignment);

/// A document without `sweep:` and `alternatives:` (expand.hpp takes those away), checked and resolved.
Scenario resolve_scenario(const Config& document);

/// load_document and resolve_scenario. A file that describes several scenarios is refused, naming the commands for it.
Scenario load_scenario(const std::filesystem::path& file, const LoadOptions& options = {});

}  // namespace ridgeline
