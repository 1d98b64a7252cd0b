#include "models/module_pattern.hpp"

#include <algorithm>

namespace ridgeline {
namespace {

std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// A glob as a regular expression that also covers what lies inside the named module.
std::regex from_glob(const std::string& glob) {
  std::string pattern;
  for (const char c : glob) {
    if (c == '*') {
      pattern += ".*";
    } else if (c == '?') {
      pattern += '.';
    } else {
      if (std::string("\\^$.|+()[]{}").find(c) != std::string::npos) pattern += '\\';
      pattern += c;
    }
  }
  return std::regex("(.*\\.)?" + pattern + "(\\..*)?$");
}

}  // namespace

ModulePattern::ModulePattern(const std::string& entry) {
  if (entry.rfind("re:", 0) == 0) {
    regex_ = std::regex(entry.substr(3));
  } else if (entry.find_first_of("*?") != std::string::npos) {
    regex_ = from_glob(entry);
  } else {
    parts_ = split(entry);
    if (parts_.size() > 1 && parts_.front() == "model") parts_.erase(parts_.begin());
  }
}

bool ModulePattern::matches(const std::string& module, const std::vector<std::string>& components) const {
  if (regex_) return std::regex_search(module, *regex_, std::regex_constants::match_continuous);
  return std::search(components.begin(), components.end(), parts_.begin(), parts_.end()) != components.end();
}

bool any_match(const std::vector<ModulePattern>& patterns, const std::string& module) {
  const std::vector<std::string> components = split(module);
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const ModulePattern& pattern) { return pattern.matches(module, components); });
}

}  // namespace ridgeline
