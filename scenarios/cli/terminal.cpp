#include "scenarios/cli/terminal.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "scenarios/report/atomic_file.hpp"
#include "scenarios/report/text.hpp"
#include "sim/base/error.hpp"

namespace ridgeline::cli {

void print(std::string_view text) {
  AtomicFile out("-");
  out.write(text);
  out.commit();
}

void complain(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, text.data(), text.size());
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

ProgressMode progress_mode(const std::optional<std::string>& text) {
  if (!text || *text == "auto") return ProgressMode::automatic;
  if (*text == "always") return ProgressMode::always;
  if (*text == "never") return ProgressMode::never;
  throw ConfigError("--progress: expected auto, always or never, got `" + *text + "`");
}

Progress::Progress(ProgressMode mode, std::int64_t total, std::string what)
    : total_(total), what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1),
      shown_(mode == ProgressMode::always || (mode == ProgressMode::automatic && terminal_)), last_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (dirty_) complain("\r\033[K");
}

void Progress::update(std::int64_t done) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(2000);
  if (now - last_ < pause) return;
  last_ = now;
  const std::string line = total_ > 0 ? fmt::format("{} of {} {}", grouped(done), grouped(total_), what_) : fmt::format("{} {}", grouped(done), what_);
  complain(terminal_ ? "\r\033[K" + line : line + "\n");
  dirty_ = terminal_;
}

}  // namespace ridgeline::cli
