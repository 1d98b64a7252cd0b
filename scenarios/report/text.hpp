// Numbers as people read them, independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline {

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t value);
/// Three significant digits or the whole part, grouped: 0.01234 -> "0.0123", 12.34 -> "12.3", 12345.6 -> "12,346".
std::string figure(double value);
/// 0.0732 -> "7.3 %".
std::string percent(double share);
/// With an SI prefix: (1.35e10, "FLOP") -> "13.5 GFLOP".
std::string si(double value, const std::string& unit);
/// With a binary prefix: 1.25 * 2^30 -> "1.25 GiB".
std::string binary_bytes(double bytes);

/// Columns padded to their widest cell: the first aligned left, the others right. Rows may be of unequal length.
class TextTable {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Every line starts with `indent`, ends with a newline and has no trailing blanks.
  [[nodiscard]] std::string text(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ridgeline
