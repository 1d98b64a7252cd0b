#include "scenarios/report/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace ridgeline {

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return value < 0 ? "-" + digits : digits;
}

std::string figure(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size >= 999.5 && size < 9e18) return grouped(std::llround(value));
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995 || size == 0.0) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string si(double value, const std::string& unit) {
  constexpr std::array<const char*, 7> prefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  while (std::abs(value) >= 999.5 && step + 1 < prefixes.size()) value /= 1000, ++step;
  return fmt::format("{} {}{}", figure(value), prefixes[step], unit);
}

std::string binary_bytes(double bytes) {
  constexpr std::array<const char*, 6> prefixes{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t step = 0;
  while (std::abs(bytes) >= 1023.5 && step + 1 < prefixes.size()) bytes /= 1024, ++step;
  return fmt::format("{} {}", step == 0 ? fmt::format("{:.0f}", bytes) : figure(bytes), prefixes[step]);
}

namespace {

// Characters, not bytes: "µ" counts once.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string TextTable::text(const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i == 0 ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ridgeline
