// The output files of one command: opened before the work, published together after it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/atomic_file.hpp"

namespace ridgeline::cli {

class Outputs {
 public:
  /// Null when `path` is absent. Throws ConfigError when it can't be written, or was named before.
  AtomicFile* open(const std::optional<std::string>& path);
  /// All files become visible, or (on a full disk) none.
  void commit();
  /// Standard output belongs to one of the files: print nothing else.
  [[nodiscard]] bool uses_standard_output() const;

 private:
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

}  // namespace ridgeline::cli
