#include "scenarios/load/reading.hpp"

#include <algorithm>
#include <filesystem>

namespace ridgeline {

namespace fs = std::filesystem;

std::optional<Bytes> maybe_bytes(MapReader& reader, std::string_view key) {
  const std::optional<Config> node = reader.child(key);
  if (!node || node->is_null()) return std::nullopt;
  const bool bare = node->is_scalar() && !node->is_quoted() && node->scalar().find_first_not_of("0123456789") == std::string::npos;
  if (!bare) return read_value<Bytes>(*node, reader.errors(), positive);
  const std::optional<std::int64_t> count = read_value<std::int64_t>(*node, reader.errors(), positive);
  return count ? std::optional(Bytes{*count}) : std::nullopt;
}

std::string find_file(const std::string& name, const SourceLocation& named_in) {
  const fs::path path(name);
  if (path.is_absolute()) return name;
  std::error_code error;
  const fs::path beside = fs::path(named_in.file).parent_path() / path;
  if (fs::exists(beside, error)) return fs::weakly_canonical(beside, error).string();
  if (fs::exists(path, error)) return fs::weakly_canonical(path, error).string();
  return name;
}

bool looks_like_path(const std::string& text, std::initializer_list<std::string_view> endings) {
  return text.find('/') != std::string::npos ||
         std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return text.ends_with(ending); });
}

}  // namespace ridgeline
