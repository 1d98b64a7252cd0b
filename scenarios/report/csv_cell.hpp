#pragma once

#include <string>

namespace ridgeline {

/// A CSV cell (RFC 4180): quoted where a comma, quote or line break would mislead.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace ridgeline
