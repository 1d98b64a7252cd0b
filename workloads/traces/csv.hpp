// Comma-separated fields of one line (RFC 4180; a quoted field ends on its line).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

/// Splits lines into fields, reusing its memory. Blanks around unquoted fields are trimmed.
class CsvSplitter {
 public:
  /// Views into `line` or into the splitter, valid until the next call. Null: a quote is out of place.
  const std::vector<std::string_view>* split(std::string_view line);

 private:
  bool split_quoted(std::string_view line);
  std::vector<std::string_view> fields_;
  std::string unquoted_;  // storage of fields with doubled quotes
};

std::string_view trimmed(std::string_view text);

}  // namespace ridgeline
