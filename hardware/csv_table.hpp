// A small CSV reader for measurement files: one header line, cells quoted or not, `#` comment lines, any line ending.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

class CsvTable {
 public:
  /// Throws ConfigError: missing or unreadable file, a directory, no header line.
  static CsvTable load(const std::filesystem::path& file);
  static CsvTable parse(std::string_view text, const std::string& file);

  class Row {
   public:
    Row(const CsvTable& table, std::size_t index) : table_(&table), index_(index) {}
    /// Line in the file, from 1.
    [[nodiscard]] int line() const { return table_->lines_[index_].number; }
    /// Empty when the column is absent or the line is too short.
    [[nodiscard]] std::string_view text(std::string_view column) const;
    /// nullopt when absent, empty or not a finite number.
    [[nodiscard]] std::optional<double> number(std::string_view column) const;

   private:
    const CsvTable* table_;
    std::size_t index_;
  };

  [[nodiscard]] bool has(std::string_view column) const { return column_index(column).has_value(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] Row row(std::size_t index) const { return {*this, index}; }

 private:
  struct Line {
    int number = 0;
    std::vector<std::string> cells;
  };
  [[nodiscard]] std::optional<std::size_t> column_index(std::string_view column) const;

  std::string file_;
  std::vector<std::string> columns_;
  std::vector<Line> lines_;
};

}  // namespace ridgeline
