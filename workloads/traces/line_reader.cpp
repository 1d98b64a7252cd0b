#include "workloads/traces/line_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

constexpr std::size_t first_buffer = 256 << 10;
constexpr std::size_t longest_line = 16 << 20;

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw ConfigError(Diagnostic{{file, 0, 0}, {}, message});
}

}  // namespace

LineReader::LineReader(std::string file) : file_(std::move(file)), buffer_(first_buffer) {
  std::error_code error;
  const auto status = std::filesystem::status(file_, error);
  if (!std::filesystem::exists(status)) refuse(file_, "no such file");
  if (std::filesystem::is_directory(status)) refuse(file_, "is a directory, expected a trace file");
  stream_.reset(std::fopen(file_.c_str(), "rb"));
  if (!stream_) refuse(file_, std::string("cannot be opened: ") + std::strerror(errno));
  std::setvbuf(stream_.get(), nullptr, _IONBF, 0);
  fill();
  const std::string_view start(buffer_.data(), end_);
  if (start.starts_with("\xEF\xBB\xBF")) begin_ = 3;
  if (start.starts_with("\x1f\x8b")) refuse(file_, "is gzip-compressed; unpack it first (gunzip)");
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) refuse(file_, "is UTF-16, expected UTF-8");
}

// Makes room and reads more; false at the end of the file.
bool LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= longest_line) {
      ++line_number_;
      fail("a line of more than 16 MiB: not a trace of one request per line");
    }
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t got = std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, stream_.get());
  if (got == 0) {
    if (std::ferror(stream_.get())) refuse(file_, std::string("cannot be read: ") + std::strerror(errno));
    at_end_ = true;
    return false;
  }
  end_ += got;
  return true;
}

bool LineReader::next_raw(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const auto* newline = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
    if (newline != nullptr) {
      const auto at = static_cast<std::size_t>(newline - buffer_.data());
      line = {buffer_.data() + begin_, at - begin_};
      begin_ = at + 1;
      break;
    }
    const std::size_t unfinished = end_ - begin_;
    if (!fill()) {
      if (unfinished == 0) return false;
      line = {buffer_.data() + begin_, unfinished};
      begin_ = end_;
      break;
    }
    searched = begin_ + unfinished;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_number_;
  return true;
}

bool LineReader::next(std::string_view& line) {
  while (next_raw(line)) {
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) return true;
  }
  return false;
}

void LineReader::fail(const std::string& message) const {
  const auto line = std::min<std::int64_t>(line_number_, std::numeric_limits<int>::max());
  throw ConfigError(Diagnostic{{file_, static_cast<int>(line), 0}, {}, message});
}

}  // namespace ridgeline
