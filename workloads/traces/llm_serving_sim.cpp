// LLMServingSim (github.com/casys-kaist/LLMServingSim): `input_toks`, `output_toks`, `arrival_time_ns`. Files
// with `sub_requests` hold agent sessions, see llm_serving_sim_sessions.cpp.
#include "workloads/traces/format.hpp"
#include "workloads/traces/session_trace.hpp"

namespace ridgeline {

TraceFormat llm_serving_sim_format() {
  TraceFormat format;
  format.name = "llmservingsim";
  format.description = "LLMServingSim traces, JSON lines";
  format.jsonl = true;
  format.fields = {
      {"arrival_time_ns", Role::time},
      {"input_toks", Role::input},
      {"output_toks", Role::output}};
  format.sessions = TraceFormat::Sessions::some;
  format.open_sessions = open_llm_serving_sim_sessions;
  format.unit = TimeUnit::nanoseconds;
  format.origin = TraceConfig::Origin::zero;
  format.matches = [](const TraceHead& head) {
    return head.jsonl && head.has("arrival_time_ns") && (head.has("input_toks") || head.has("sub_requests"));
  };
  return format;
}

}  // namespace ridgeline
