#include "scenarios/load/flatten.hpp"

#include <fmt/format.h>

namespace ridgeline {

namespace {

void collect(const Config& node, const std::string& path, std::vector<std::pair<std::string, Config>>& leaves) {
  const bool inner = (node.is_map() || node.is_sequence()) && node.size() > 0;
  if (!inner) {
    leaves.emplace_back(path, node);
  } else if (node.is_map()) {
    for (const auto& [key, child] : node.entries()) collect(child, path.empty() ? key : path + "." + key, leaves);
  } else {
    for (std::size_t i = 0; i < node.size(); ++i) collect(node.at(i), fmt::format("{}[{}]", path, i), leaves);
  }
}

}  // namespace

std::vector<std::pair<std::string, Config>> flatten(const Config& document) {
  std::vector<std::pair<std::string, Config>> leaves;
  collect(document, "", leaves);
  return leaves;
}

}  // namespace ridgeline
