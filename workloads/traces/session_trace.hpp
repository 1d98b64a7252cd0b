// Traces whose requests wait for each other's answers: turns with delays, agents with tools and sub-agents.
#pragma once

#include <memory>
#include <optional>

#include "workloads/arrivals.hpp"
#include "workloads/sessions.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// Whether rows of the trace wait for answers. Reads its format and, where that allows both, the file.
/// Throws ConfigError when the file can't be read.
bool has_sessions(const TraceConfig& trace);

/// The sessions of `workload.trace`. Throws ConfigError naming file and line.
std::unique_ptr<SessionStream> open_session_trace(const WorkloadConfig& workload, std::uint64_t seed);

// One reader per kind of file.
std::unique_ptr<SessionStream> open_row_sessions(const WorkloadConfig& workload, std::uint64_t seed);
std::unique_ptr<SessionStream> open_weka_sessions(const WorkloadConfig& workload, std::uint64_t seed);
std::unique_ptr<SessionStream> open_llm_serving_sim_sessions(const WorkloadConfig& workload, std::uint64_t seed);

/// When sessions start: at the workload's arrivals, else at the trace's own times, if it has any.
class SessionStarts {
 public:
  SessionStarts(const WorkloadConfig& workload, std::uint64_t seed);
  /// `own`: the trace's time since its zero, cut and scaled already. nullopt: nothing starts any more.
  std::optional<Time> next(Duration own);

 private:
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::optional<Duration> duration_;
};

/// What `zero_tokens` says of a request: false = leave it out; lengths of zero may become one. Throws ConfigError for `error`.
bool keep_lengths(const TraceConfig& trace, Tokens& input, Tokens& output, const SourceLocation& where);

/// A prompt that continues a conversation: the history as far as the new prompt covers it, then tokens of its own.
Content continued(const Content& history, Tokens history_length, std::int64_t row, Tokens input);

}  // namespace ridgeline
