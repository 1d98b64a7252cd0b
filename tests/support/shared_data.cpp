#include "tests/support/shared_data.hpp"

#include <cstdlib>

namespace ridgeline::test {

namespace fs = std::filesystem;

fs::path source_folder() { return fs::path(RIDGELINE_SOURCE_DIR); }

std::optional<fs::path> shared_folder() {
  if (const char* data = std::getenv("RIDGELINE_DATA")) {
    if (fs::exists(data)) return fs::path(data).parent_path();
  }
  const fs::path beside = source_folder() / ".." / "shared";
  if (fs::exists(beside / "data")) return beside;
  return std::nullopt;
}

}  // namespace ridgeline::test
