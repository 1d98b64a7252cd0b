#include "sim/base/error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ridgeline {

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  if (!diagnostic.where.file.empty()) {
    text += diagnostic.where.file;
    if (diagnostic.where.line > 0) text += fmt::format(":{}", diagnostic.where.line);
    if (diagnostic.where.line > 0 && diagnostic.where.column > 0) text += fmt::format(":{}", diagnostic.where.column);
    text += ": ";
  }
  if (!diagnostic.key.empty()) text += diagnostic.key + ": ";
  return text + diagnostic.message;
}

namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

// Restricted Damerau-Levenshtein distance (insert, delete, substitute, swap of neighbours).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

std::vector<std::string> near_matches(const std::string& name, const std::vector<std::string>& candidates,
                                      std::size_t most) {
  if (name.empty() || name.size() > 200) return {};
  std::vector<std::pair<std::size_t, std::string>> scored;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool prefix = name.size() >= 3 && (candidate.starts_with(name) || name.starts_with(candidate));
    if (distance <= std::max<std::size_t>(1, name.size() / 3)) {
      scored.emplace_back(distance, candidate);
    } else if (prefix) {
      scored.emplace_back(name.size(), candidate);
    }
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, scored.size()); ++i) names.push_back(scored[i].second);
  return names;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = near_matches(name, candidates);
  if (!near.empty()) {
    std::string text = "; did you mean ";
    for (std::size_t i = 0; i < near.size(); ++i) text += (i == 0 ? "`" : " or `") + near[i] + "`";
    return text + "?";
  }
  constexpr std::size_t shown = 24;
  std::string text = "; expected one of: ";
  for (std::size_t i = 0; i < std::min(shown, candidates.size()); ++i) text += (i == 0 ? "" : ", ") + candidates[i];
  if (candidates.size() > shown) text += fmt::format(", … ({} in all)", candidates.size());
  return text;
}

}  // namespace ridgeline
