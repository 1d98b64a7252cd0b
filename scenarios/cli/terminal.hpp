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

/// How often to show how far a run has come. Away from a terminal, `automatic` writes a line every 10 s and `always` every 2 s.
enum class ProgressMode : std::uint8_t { automatic, always, never };
/// From `--progress auto|always|never`. Throws ConfigError.
ProgressMode progress_mode(const std::optional<std::string>& text);

/// How far the work has come, on standard error: a bar with the time left, rewritten in place, on a terminal; plain lines
/// elsewhere.
class Progress {
 public:
  /// `total` = 0 when unknown; `what` names the things counted; `already` of them were done before (they say nothing about speed).
  Progress(ProgressMode mode, std::int64_t total, std::string what, std::int64_t already = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t done);
  /// As work is planned on the way.
  void update(std::int64_t done, std::int64_t total) { total_ = total, update(done); }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::string line(std::int64_t done, Clock::time_point now) const;

  std::int64_t total_;
  std::string what_;
  std::int64_t already_;
  bool terminal_;
  std::chrono::milliseconds pause_;  // between two lines
  bool shown_;
  bool dirty_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

/// How long the rest takes if it goes on as before: "4 s", "3 min 20 s", "2 h 5 min".
std::string time_left(std::chrono::duration<double> elapsed, std::int64_t done, std::int64_t left);

}  // namespace ridgeline::cli
