// What decides a run's result, as a short text: equal keys, equal results.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "sim/base/config.hpp"

namespace ridgeline {

/// Makes keys: 128-bit hashes, in hex, of the resolved scenario, the contents of the files it names (traces, tables, calibrations, models)
/// and the program's version. Files are read once. May be shared by threads.
class ScenarioKeys {
 public:
  std::string of(const Config& resolved);

 private:
  std::optional<std::string> file_hash(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, std::optional<std::string>> files_;  // null: no such file
};

}  // namespace ridgeline
