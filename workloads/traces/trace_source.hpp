// A trace as a stream of requests in order of time.
#pragma once

#include <deque>
#include <memory>

#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

/// Rows in order of time, cut to the window and shifted to its start, zero rows treated as the scenario says.
/// Holds at most `reorder_rows` rows.
class TraceStream {
 public:
  TraceStream(const TraceConfig& config, TraceNeeds needs);

  struct Item {
    Duration arrival;  ///< since time zero of the run; zero when the trace's times are not used
    TraceRow row;
  };
  /// The next row; nullopt at the end. Throws ConfigError naming file and line.
  std::optional<Item> next();

  [[nodiscard]] const TraceReader& reader() const { return reader_; }
  [[nodiscard]] std::int64_t rows_read() const { return rows_read_; }
  [[nodiscard]] std::int64_t zero_rows() const { return zero_rows_; }
  [[nodiscard]] std::int64_t late_rows() const { return late_rows_; }

 private:
  void fill();
  std::optional<TraceRow> pop();
  std::optional<Duration> place_in_time(const TraceRow& row);
  bool keep(TraceRow& row);

  TraceConfig config_;
  TraceNeeds needs_;
  TraceReader reader_;
  std::deque<TraceRow> held_;  // in order of time, equal times in order of the file
  bool at_end_ = false;
  bool past_window_ = false;
  std::optional<Instant> origin_;
  std::optional<Instant> last_;
  std::int64_t rows_read_ = 0;
  std::int64_t zero_rows_ = 0;
  std::int64_t late_rows_ = 0;
};

}  // namespace ridgeline
