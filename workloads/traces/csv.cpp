#include "workloads/traces/csv.hpp"

#include <algorithm>
#include <cstring>

namespace ridgeline {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

const std::vector<std::string_view>* CsvSplitter::split(std::string_view line) {
  fields_.clear();
  if (std::memchr(line.data(), '"', line.size()) != nullptr) return split_quoted(line) ? &fields_ : nullptr;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields_.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return &fields_;
    line.remove_prefix(comma + 1);
  }
}

bool CsvSplitter::split_quoted(std::string_view line) {
  unquoted_.clear();
  unquoted_.reserve(line.size());  // never reallocates below, so views into it stay valid
  for (;;) {
    const std::size_t start = std::min(line.find_first_not_of(" \t"), line.size());
    std::size_t comma;
    if (start < line.size() && line[start] == '"') {
      const std::size_t stored = unquoted_.size();
      std::size_t i = start + 1;
      for (;; ++i) {
        if (i >= line.size()) return false;
        if (line[i] == '"') {
          if (i + 1 >= line.size() || line[i + 1] != '"') break;
          ++i;
        }
        unquoted_.push_back(line[i]);
      }
      fields_.push_back(std::string_view(unquoted_).substr(stored));
      comma = line.find(',', i);
      if (!trimmed(line.substr(i + 1, std::min(comma, line.size()) - i - 1)).empty()) return false;
    } else {
      comma = line.find(',');
      fields_.push_back(trimmed(line.substr(0, comma)));
    }
    if (comma == std::string_view::npos) return true;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace ridgeline
