#include "workloads/traces/trace_source.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ridgeline {

TraceStream::TraceStream(const TraceConfig& config, TraceNeeds needs)
    : config_(config), needs_(needs), reader_(config, needs) {}

// Reads ahead, so that a late row can still be put where it belongs. Without times the order of the file counts.
void TraceStream::fill() {
  const auto most = static_cast<std::size_t>(needs_.times ? config_.reorder_rows + 1 : 1);
  while (!at_end_ && held_.size() < most) {
    TraceRow row;
    if (!reader_.next(row)) {
      at_end_ = true;
      break;
    }
    ++rows_read_;
    if (needs_.times && last_ && *row.time < *last_) {
      reader_.fail(
          row.line,
          fmt::format("arrives before rows already replayed: it is more than {} rows out of order; sort the file or "
                      "raise `reorder_rows`",
                      config_.reorder_rows));
    }
    if (!needs_.times || held_.empty() || *row.time >= *held_.back().time) {
      held_.push_back(std::move(row));
    } else {
      ++late_rows_;
      const auto earlier = [](const TraceRow& a, const TraceRow& b) { return *a.time < *b.time; };
      const auto place = std::upper_bound(held_.begin(), held_.end(), row, earlier);
      held_.insert(place, std::move(row));
    }
  }
}

std::optional<TraceRow> TraceStream::pop() {
  fill();
  if (held_.empty()) return std::nullopt;
  TraceRow row = std::move(held_.front());
  held_.pop_front();
  last_ = row.time;
  return row;
}

// When the row arrives; nullopt outside the window.
std::optional<Duration> TraceStream::place_in_time(const TraceRow& row) {
  if (!needs_.times) return Duration{};
  if (!origin_) origin_ = reader_.starts_at_first_row() ? *row.time : Instant{};
  const Instant start = *origin_ + config_.start.value_or(Duration{});
  if (*row.time < start) {
    if (!config_.start) reader_.fail(row.line, "a time before zero; set `time_origin: first_row`");
    return std::nullopt;
  }
  if (config_.end && *row.time >= *origin_ + *config_.end) {
    past_window_ = true;
    return std::nullopt;
  }
  const std::optional<Duration> since = row.time->since(start);
  const double scaled = since ? std::nearbyint(since->as_double() / config_.rate_scale) : 1e300;
  if (!since || scaled > 9.2e18) {
    reader_.fail(
        row.line,
        "arrives more than 106 days after time zero, longer than a run can last; choose a window with `start` and "
        "`end`, or another `time_unit`");
  }
  return config_.rate_scale == 1.0 ? *since : Duration{static_cast<std::int64_t>(scaled)};
}

// The rule for rows with a length of zero, failed requests for the most part.
bool TraceStream::keep(TraceRow& row) {
  const bool no_input = row.input && row.input->count() == 0;
  const bool no_output = row.output && row.output->count() == 0;
  if (!no_input && !no_output) return true;
  ++zero_rows_;
  switch (config_.zero_tokens) {
    case TraceConfig::ZeroTokens::drop: return false;
    case TraceConfig::ZeroTokens::error:
      reader_.fail(row.line,
                   fmt::format("has no {} tokens; `zero_tokens: drop` or `keep_as_one` says what to do with such rows",
                               no_input ? "input" : "output"));
    case TraceConfig::ZeroTokens::keep_as_one: break;
  }
  if (no_input) row.input = Tokens{1};
  if (no_output) row.output = Tokens{1};
  if (row.max_tokens) row.max_tokens = std::max(*row.max_tokens, *row.output);
  return true;
}

std::optional<TraceStream::Item> TraceStream::next() {
  while (!past_window_) {
    std::optional<TraceRow> row = pop();
    if (!row) return std::nullopt;
    const std::optional<Duration> arrival = place_in_time(*row);
    if (arrival && keep(*row)) return Item{*arrival, std::move(*row)};
  }
  return std::nullopt;
}

}  // namespace ridgeline
