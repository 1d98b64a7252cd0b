// What the workload tests share: a workload from YAML text, its requests, its mistakes, and small files on disk.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"
#include "workloads/workload.hpp"

namespace ridgeline::test {

/// A file with `text`, removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text, const std::string& extension = ".csv") {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("ridgeline-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + extension);
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline WorkloadConfig workload_from(std::string_view yaml) {
  Diagnostics errors;
  WorkloadConfig workload = read_workload(Config::parse(yaml, "test.yaml"), errors);
  errors.throw_if_any();
  return workload;
}

/// Every message of the ConfigError that `act` throws, with places; empty when it throws none.
template <class Act>
std::string complaint(Act act) {
  try {
    act();
  } catch (const ConfigError& error) {
    std::string all;
    for (const Diagnostic& diagnostic : error.diagnostics()) all += to_string(diagnostic) + "\n";
    return all;
  }
  return {};
}
inline std::string mistakes_in(std::string_view yaml) {
  return complaint([&] { workload_from(yaml); });
}

inline std::vector<RequestSpec> pull_all(RequestSource& source) {
  std::vector<RequestSpec> requests;
  while (std::optional<RequestSpec> request = source.next()) requests.push_back(std::move(*request));
  return requests;
}
inline std::vector<RequestSpec> requests_of(std::string_view yaml, std::uint64_t seed = 1) {
  return pull_all(*make_source(workload_from(yaml), seed));
}
inline WorkloadNotes notes_of(std::string_view yaml, std::uint64_t seed = 1) {
  const auto source = make_source(workload_from(yaml), seed);
  while (source->next()) {
  }
  return source->notes();
}

/// The requests of a trace with this text; `options` are further keys of `trace:`, like ", time_unit: s".
inline std::vector<RequestSpec> replay(std::string_view text, const std::string& options = "") {
  const TemporaryFile file(text);
  return requests_of("trace: {file: " + file.path() + options + "}");
}
inline std::string replay_complaint(std::string_view text, const std::string& options = "") {
  return complaint([&] { replay(text, options); });
}

/// A message that does not contain `part` is shown.
inline bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  WARN("not in: " << text);
  return false;
}

/// Picoseconds after time zero.
inline std::int64_t ps(const RequestSpec& request) { return request.arrival.since_start().picoseconds(); }

}  // namespace ridgeline::test
