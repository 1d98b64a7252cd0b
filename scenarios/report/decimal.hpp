// Exact decimal text of integer times: what the step log and the traces print.
#pragma once

#include <string>

#include "sim/base/units.hpp"

namespace ridgeline {

/// `value` / 10^`digits` without trailing zeros: (3429000000, 12) is "0.003429", (0, 12) is "0".
inline std::string decimal(std::int64_t value, int digits) {
  const bool negative = value < 0;
  std::string text = std::to_string(negative ? -value : value);
  const auto wanted = static_cast<std::size_t>(digits);
  if (text.size() <= wanted) text.insert(0, wanted + 1 - text.size(), '0');
  text.insert(text.size() - wanted, 1, '.');
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return negative ? "-" + text : text;
}

inline std::string seconds_text(Duration time) { return decimal(time.picoseconds(), 12); }
inline std::string seconds_text(Time time) { return seconds_text(time.since_start()); }
inline std::string milliseconds_text(Duration time) { return decimal(time.picoseconds(), 9); }
inline std::string microseconds_text(Duration time) { return decimal(time.picoseconds(), 6); }

}  // namespace ridgeline
