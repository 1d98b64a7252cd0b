#include "hardware/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Cells of one line; a cell in double quotes may hold commas and doubled quotes (RFC 4180, without line breaks).
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells;
  std::string cell;
  bool quoted = false, was_quoted = false;
  const auto close = [&] {
    cells.push_back(was_quoted ? cell : std::string(trimmed(cell)));
    cell.clear();
    was_quoted = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cell += line[++i];
    } else if (c == '"' && (quoted || trimmed(cell).empty())) {
      quoted = !quoted;
      if (quoted) cell.clear();
      was_quoted = true;
    } else if (c == ',' && !quoted) {
      close();
    } else if (!was_quoted || quoted) {
      cell += c;
    }
  }
  close();
  return cells;
}

}  // namespace

CsvTable CsvTable::load(const std::filesystem::path& file) {
  const auto fail = [&](const char* why) { return ConfigError(Diagnostic{{file.string(), 0, 0}, {}, why}); };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw fail("is a directory, not a CSV file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw fail("can't be opened");
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw fail("can't be read");
  return parse(text.str(), file.string());
}

CsvTable CsvTable::parse(std::string_view text, const std::string& file) {
  CsvTable table;
  table.file_ = file;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (table.columns_.empty()) {
      table.columns_ = split(line);
    } else {
      table.lines_.push_back({number, split(line)});
    }
  }
  if (table.columns_.empty()) throw ConfigError(Diagnostic{{file, 1, 0}, {}, "has no header line with column names"});
  return table;
}

std::optional<std::size_t> CsvTable::column_index(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::string_view CsvTable::Row::text(std::string_view column) const {
  const auto index = table_->column_index(column);
  const auto& cells = table_->lines_[index_].cells;
  return index && *index < cells.size() ? std::string_view(cells[*index]) : std::string_view{};
}

std::optional<double> CsvTable::Row::number(std::string_view column) const {
  const std::string_view cell = text(column);
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace ridgeline
