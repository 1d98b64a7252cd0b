// Sessions: requests that wait for each other's answers. Conversations with think time, agents that call tools.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/config.hpp"
#include "sim/serving/request.hpp"
#include "workloads/durations.hpp"
#include "workloads/lengths.hpp"

namespace ridgeline {

/// Generated sessions. A turn's prompt is the whole history (earlier prompts and answers) and the turn's new tokens; it is
/// sent when the previous answer has ended and the user has thought. `input_tokens` and `output_tokens` of the workload
/// are a turn's new tokens and its answer; arrivals are those of sessions.
struct SessionConfig {
  std::optional<std::int64_t> num_sessions;
  LengthConfig turns;                              ///< a session's turns of the user
  DurationConfig think_time;                       ///< from an answer's end to the user's next turn
  std::optional<LengthConfig> tool_calls;          ///< requests an agent adds to each turn, one after the other
  DurationConfig tool_time;                        ///< from an answer's end to the request that brings the tool's result
  LengthConfig tool_tokens;                        ///< tokens of a tool's result
  std::optional<Tokens> max_context_tokens;        ///< a session ends before prompt and answer would exceed it
};

/// Reads `sessions:`.
SessionConfig read_sessions(const Config& node, Diagnostics& errors);
std::string to_yaml(const SessionConfig& sessions);
std::string describe(const SessionConfig& sessions);

/// A request of a session.
struct SessionStep {
  RequestSpec request;               ///< its arrival is set when it is known
  std::vector<std::uint32_t> after;  ///< earlier steps of the session whose answers it needs; none: the session's start
  Duration delay;                    ///< from the last of those answers to the send
};

/// Steps in an order in which each comes after those it needs.
struct Session {
  Time start;
  std::vector<SessionStep> steps;
};

struct WorkloadNotes;

/// Yields sessions in order of their starts.
class SessionStream {
 public:
  virtual ~SessionStream() = default;
  virtual std::optional<Session> next() = 0;
  /// Fills in what the report should say of the kind of stream.
  virtual void annotate(WorkloadNotes& notes) const = 0;
};

}  // namespace ridgeline
