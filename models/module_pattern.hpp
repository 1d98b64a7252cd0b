// Does an entry of an ignore list name this module? Checkpoint tools spell such entries in four ways.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace ridgeline {

/// One entry: `re:…` (Python re.match, compressed-tensors), a glob with `*` (ModelOpt, MXFP4), or dotted components
/// that occur side by side in the module's name ("model.layers.1.mlp", "self_attn", "lm_head"). A module inside a named
/// one is named too.
class ModulePattern {
 public:
  /// Throws std::regex_error.
  explicit ModulePattern(const std::string& entry);
  /// `components` are `module` split at its dots.
  [[nodiscard]] bool matches(const std::string& module, const std::vector<std::string>& components) const;

 private:
  std::optional<std::regex> regex_;
  std::vector<std::string> parts_;
};

/// True when any pattern matches.
bool any_match(const std::vector<ModulePattern>& patterns, const std::string& module);

}  // namespace ridgeline
