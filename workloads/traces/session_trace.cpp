#include "workloads/traces/session_trace.hpp"

#include <fmt/format.h>

#include "workloads/source.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

// A row that waits: it says how long, or has a session and no time of its own.
bool waits(std::string_view line) {
  const auto has = [&](std::string_view key) { return line.find(key) != std::string_view::npos; };
  if (has("\"delay\"") || has("\"delay_ms\"") || has("\"sub_requests\"")) return true;
  return has("\"session_id\"") && !has("\"timestamp\"") && !has("\"created_time\"") && !has("\"arrival_time_ns\"");
}

}  // namespace

bool has_sessions(const TraceConfig& trace) {
  const TraceFormat format = choose_format(trace, read_head(trace.file));
  if (format.sessions == TraceFormat::Sessions::always) return true;
  if (format.sessions == TraceFormat::Sessions::never) return false;
  LineReader lines(trace.file);
  std::string_view line;
  while (lines.next(line)) {
    if (waits(line)) return true;
  }
  return false;
}

std::unique_ptr<SessionStream> open_session_trace(const WorkloadConfig& workload, std::uint64_t seed) {
  const TraceFormat format = choose_format(*workload.trace, read_head(workload.trace->file));
  return format.open_sessions(workload, seed);
}

SessionStarts::SessionStarts(const WorkloadConfig& workload, std::uint64_t seed) : duration_(workload.duration) {
  if (workload.arrival) arrivals_ = make_arrivals(*workload.arrival, std::nullopt, seed);
}

std::optional<Time> SessionStarts::next(Duration own) {
  const std::optional<Time> start = arrivals_ ? arrivals_->next() : Time{own};
  if (!start || (duration_ && start->since_start() >= *duration_)) return std::nullopt;
  return start;
}

bool keep_lengths(const TraceConfig& trace, Tokens& input, Tokens& output, const SourceLocation& where) {
  if (input > Tokens{0} && output > Tokens{0}) return true;
  if (trace.zero_tokens == TraceConfig::ZeroTokens::drop) return false;
  if (trace.zero_tokens == TraceConfig::ZeroTokens::error) {
    throw ConfigError(Diagnostic{where, {}, "has no input or no output tokens; `zero_tokens: drop` or `keep_as_one` says what "
                                            "to do with such rows"});
  }
  input = std::max(input, Tokens{1});
  output = std::max(output, Tokens{1});
  return true;
}

Content continued(const Content& history, Tokens history_length, std::int64_t row, Tokens input) {
  Content content;
  Tokens covered;
  // A prompt shorter than the history was cut or summed up: what it still shares is not known.
  if (input >= history_length) content = history, covered = history_length;
  if (input > covered) content.push_back({prompt_stream(row), covered, input - covered});
  return content;
}

}  // namespace ridgeline
