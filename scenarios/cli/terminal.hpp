// Standard output and error. Nothing outside scenarios/cli prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::cli {

/// To standard output, whole or with a ConfigError (closed pipe, full disk).
void print(std::string_view text);
/// To standard error; failures there have nowhere to be reported.
void complain(std::string_view text);

/// When to show how far a run has come.
enum class ProgressMode : std::uint8_t { automatic, always, never };
/// From `--progress auto|always|never`. Throws ConfigError.
ProgressMode progress_mode(const std::optional<std::string>& text);

/// A line on standard error: rewritten in place on a terminal, one line every few seconds elsewhere.
class Progress {
 public:
  /// `total` = 0 when unknown; `what` names the things counted.
  Progress(ProgressMode mode, std::int64_t total, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t done);

 private:
  std::int64_t total_;
  std::string what_;
  bool terminal_;
  bool shown_;
  bool dirty_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace ridgeline::cli
