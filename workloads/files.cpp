#include "workloads/files.hpp"

#include <filesystem>

namespace ridgeline {

std::string find_file(const std::string& name, const std::string& named_in) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path(name);
  if (path.is_relative()) {
    const fs::path beside = fs::path(named_in).parent_path() / path;
    if (fs::exists(beside, error)) path = beside;
  }
  const fs::path absolute = fs::absolute(path, error);
  return error ? name : absolute.lexically_normal().string();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace ridgeline
