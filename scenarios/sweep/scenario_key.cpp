#include "scenarios/sweep/scenario_key.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/flatten.hpp"
#include "scenarios/report/version.hpp"
#include "sim/base/rng.hpp"

namespace ridgeline {

namespace {

// Two 64-bit hashes of one pass over the text; 64 bits alone would make one collision in 10^5 points a matter of luck (10^-9).
class Hash128 {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      fnv_ = (fnv_ ^ byte) * 0x100000001b3ULL;
      sum_ = sum_ * 0x9e3779b97f4a7c15ULL + byte + 1;
    }
  }
  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}{:016x}", mix64(fnv_), mix64(sum_)); }

 private:
  std::uint64_t fnv_ = 0xcbf29ce484222325ULL;
  std::uint64_t sum_ = 0;
};

}  // namespace

std::optional<std::string> ScenarioKeys::file_hash(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  std::error_code error;
  std::optional<std::string> hash;
  if (std::filesystem::is_regular_file(path, error)) {
    std::ifstream in(path, std::ios::binary);
    std::array<char, 1 << 16> buffer{};
    Hash128 content;
    while (in.read(buffer.data(), buffer.size()), in.gcount() > 0) content.add({buffer.data(), static_cast<std::size_t>(in.gcount())});
    hash = content.hex();
  }
  files_.emplace(path, hash);
  return hash;
}

std::string ScenarioKeys::of(const Config& resolved) {
  Hash128 hash;
  hash.add(version());
  hash.add("\n");
  hash.add(dump(to_json(resolved)));
  for (const auto& [path, leaf] : flatten(resolved)) {
    if (!leaf.is_scalar() || leaf.scalar().find_first_of("./") == std::string::npos) continue;
    if (const auto content = file_hash(leaf.scalar())) hash.add("\n" + path + " " + *content);
  }
  return hash.hex();
}

}  // namespace ridgeline
