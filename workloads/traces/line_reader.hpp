// Lines of a text file of any size in constant memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

/// Reads line by line: LF or CRLF, with or without a final newline, a leading UTF-8 byte order mark skipped.
class LineReader {
 public:
  /// Throws ConfigError: missing, a directory, unreadable, gzip.
  explicit LineReader(std::string file);

  /// The next line that is not blank, valid until the next call; false at the end.
  /// Throws ConfigError on a read error or a line beyond 16 MiB (not a text file of records).
  bool next(std::string_view& line);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::int64_t line_number() const { return line_number_; }
  /// Throws a ConfigError placed at the current line.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  bool next_raw(std::string_view& line);
  bool fill();

  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  std::string file_;
  std::unique_ptr<std::FILE, Close> stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the unread part of buffer_
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::int64_t line_number_ = 0;
};

}  // namespace ridgeline
