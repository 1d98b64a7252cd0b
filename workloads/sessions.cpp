#include "workloads/sessions.hpp"

#include <fmt/format.h>

namespace ridgeline {

SessionConfig read_sessions(const Config& node, Diagnostics& errors) {
  SessionConfig sessions;
  MapReader map(node, errors);
  sessions.num_sessions = map.maybe<std::int64_t>("num_sessions", {1, 1e12});
  if (const auto turns = map.require_child("turns")) sessions.turns = read_lengths(*turns, errors);
  if (const auto time = map.require_child("think_time")) sessions.think_time = read_durations(*time, errors);
  if (const auto calls = map.child("tool_calls")) {
    sessions.tool_calls = read_lengths(*calls, errors);
    if (const auto time = map.require_child("tool_time")) sessions.tool_time = read_durations(*time, errors);
    if (const auto tokens = map.require_child("tool_tokens")) sessions.tool_tokens = read_lengths(*tokens, errors);
  } else {
    for (const char* key : {"tool_time", "tool_tokens"}) {
      if (map.child(key)) map.mistake(key, "needs `tool_calls`: how many there are in a turn");
    }
  }
  sessions.max_context_tokens = map.maybe<Tokens>("max_context_tokens", {2, longest_length.as_double()});
  map.done();
  return sessions;
}

std::string to_yaml(const SessionConfig& sessions) {
  std::string text = fmt::format("{{turns: {}, think_time: {}", to_yaml(sessions.turns), to_yaml(sessions.think_time));
  if (sessions.num_sessions) text += fmt::format(", num_sessions: {}", *sessions.num_sessions);
  if (sessions.tool_calls) {
    text += fmt::format(", tool_calls: {}, tool_time: {}, tool_tokens: {}", to_yaml(*sessions.tool_calls),
                        to_yaml(sessions.tool_time), to_yaml(sessions.tool_tokens));
  }
  if (sessions.max_context_tokens) text += fmt::format(", max_context_tokens: {}", sessions.max_context_tokens->count());
  return text + "}";
}

std::string describe(const SessionConfig& sessions) {
  std::string text = fmt::format("sessions of turns {}, think time {}", describe(sessions.turns), describe(sessions.think_time));
  if (sessions.tool_calls) {
    text += fmt::format(", tool calls a turn {} of {} tokens, {} each", describe(*sessions.tool_calls),
                        describe(sessions.tool_tokens), describe(sessions.tool_time));
  }
  if (sessions.max_context_tokens) text += fmt::format(", cut at {} tokens of context", sessions.max_context_tokens->count());
  return text;
}

}  // namespace ridgeline
