#include "scenarios/cli/terminal.hpp"

#include <algorithm>
#include <cmath>

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

Progress::Progress(ProgressMode mode, std::int64_t total, std::string what, std::int64_t already)
    : total_(total), what_(std::move(what)), already_(already), terminal_(::isatty(STDERR_FILENO) == 1),
      pause_(terminal_ ? 100 : mode == ProgressMode::always ? 2'000 : 10'000), shown_(mode != ProgressMode::never), start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (dirty_) complain("\r\033[K");
}

void Progress::update(std::int64_t done) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now - last_ < pause_) return;
  last_ = now;
  complain(terminal_ ? "\r\033[K" + line(done, now) : line(done, now) + "\n");
  dirty_ = terminal_;
}

std::string Progress::line(std::int64_t done, Clock::time_point now) const {
  if (total_ <= 0) return fmt::format("{} {}", grouped(done), what_);
  constexpr std::int64_t width = 30;
  std::string line;
  if (terminal_) {
    const auto filled = static_cast<std::size_t>(std::clamp(done * width / total_, std::int64_t{0}, width));
    line = "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }
  line += fmt::format("{} of {} {}", grouped(done), grouped(total_), what_);
  if (done > already_ && done < total_) line += ", " + time_left(now - start_, done - already_, total_ - done) + " left";
  return line;
}

std::string time_left(std::chrono::duration<double> elapsed, std::int64_t done, std::int64_t left) {
  const double seconds = elapsed.count() / static_cast<double>(done) * static_cast<double>(left);
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 3.6e8)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace ridgeline::cli
