// Rows of a trace file, whatever its format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/serving/request.hpp"
#include "workloads/traces/csv.hpp"
#include "workloads/traces/format.hpp"
#include "workloads/traces/instant.hpp"
#include "workloads/traces/json_record.hpp"
#include "workloads/traces/line_reader.hpp"

namespace ridgeline {

/// A row as read; lengths may be zero.
struct TraceRow {
  std::int64_t line = 0;
  std::optional<Instant> time;  ///< null: the row, or the whole file, has none
  std::optional<Tokens> input;
  std::optional<Tokens> output;
  std::optional<Tokens> max_tokens;
  std::int32_t priority = 0;
  std::uint64_t session = 0;      ///< names the conversation; 0 = none
  std::optional<Duration> delay;  ///< from the session's previous answer
  Content content;
  std::vector<int> accepted;
};

/// What a workload takes from the trace; the rest may be missing there.
struct TraceNeeds {
  bool times = true;
  bool input = true;
  bool output = true;
};

/// Reads a trace row by row in the order of the file.
class TraceReader {
 public:
  /// Throws ConfigError: the file cannot be opened, its format is unknown, a needed column is missing.
  TraceReader(const TraceConfig& config, TraceNeeds needs);
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  /// False at the end. Throws ConfigError naming file and line.
  bool next(TraceRow& row);

  [[nodiscard]] const TraceFormat& format() const { return format_; }
  /// Times count from the first row (true) or from the trace's own zero. Known once a row was read.
  [[nodiscard]] bool starts_at_first_row() const;
  /// "azure-2023 CSV `x.csv`: times are dates, …": what was recognised, for people.
  [[nodiscard]] std::string describe() const;
  /// "times below 1 ms with a fraction …" or empty.
  [[nodiscard]] std::string unit_warning() const;
  [[noreturn]] void fail(std::int64_t line, const std::string& message) const;
  [[noreturn]] void fail(const std::string& message) const { lines_.fail(message); }

 private:
  enum class Clock { unknown, number, date };

  void bind_columns(const TraceHead& head, TraceNeeds needs);
  const TraceField* field_named(std::string_view name) const;
  void read_csv(std::string_view line, TraceRow& row);
  void read_json(std::string_view line, TraceRow& row);
  void decode(const TraceField& field, std::string_view text, bool quoted, TraceRow& row);
  Instant decode_time(const TraceField& field, std::string_view text);
  Tokens decode_tokens(const TraceField& field, std::string_view text) const;
  [[nodiscard]] Duration decode_delay(const TraceField& field, std::string_view text) const;
  void name_session(TraceRow& row);
  void decode_prefix(std::string_view text, TraceRow& row) const;
  void add_blocks(const std::vector<std::uint64_t>& ids, TraceRow& row) const;
  void check(TraceRow& row) const;

  TraceConfig config_;
  TraceNeeds needs_;
  TraceFormat format_;
  Tokens block_size_;
  LineReader lines_;
  CsvSplitter csv_;
  JsonRecord json_;
  std::vector<const TraceField*> columns_;  // of a CSV, per column; null: not used
  std::vector<std::string> unused_;
  std::vector<std::uint64_t> ids_;          // of the current row
  std::optional<std::int64_t> chat_, parent_chat_;                 // of the current row
  std::unordered_map<std::int64_t, std::uint64_t> session_of_chat_;  // looked up, never iterated
  Clock clock_ = Clock::unknown;
  TimeUnit unit_ = TimeUnit::seconds;
  bool unit_assumed_ = true;                // neither the scenario nor the column's name says it
  Instant first_time_;
  std::int64_t suspicious_line_ = 0;        // first with a fractional time below one unit
};

/// The first lines of `file`. Throws ConfigError when they are neither a CSV with a header nor JSON lines.
TraceHead read_head(const std::string& file);
/// The format `config` names or, for `auto`, the first that recognises the head, with `columns:` applied.
TraceFormat choose_format(const TraceConfig& config, const TraceHead& head);

std::string_view name_of(TimeUnit unit);

}  // namespace ridgeline
