#include "scenarios/cli/outputs.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace ridgeline::cli {

AtomicFile* Outputs::open(const std::optional<std::string>& path) {
  if (!path) return nullptr;
  const auto same = [&](const auto& file) { return file->path() == *path; };
  if (*path != "/dev/null" && std::any_of(files_.begin(), files_.end(), same)) {
    throw ConfigError("two outputs would go to `" + *path + "`");
  }
  files_.push_back(std::make_unique<AtomicFile>(*path));
  return files_.back().get();
}

void Outputs::commit() {
  for (const auto& file : files_) file->sync();
  for (const auto& file : files_) file->commit();
}

bool Outputs::uses_standard_output() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& file) { return file->path() == "-"; });
}

}  // namespace ridgeline::cli
