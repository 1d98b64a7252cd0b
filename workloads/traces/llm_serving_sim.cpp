// LLMServingSim (github.com/casys-kaist/LLMServingSim): `input_toks`, `output_toks`, `arrival_time_ns`. Rows with
// `sub_requests` are agent sessions whose steps wait for each other.
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat llm_serving_sim_format() {
  TraceFormat format;
  format.name = "llmservingsim";
  format.description = "LLMServingSim traces, JSON lines";
  format.jsonl = true;
  format.fields = {
      {"arrival_time_ns", Role::time},
      {"input_toks", Role::input},
      {"output_toks", Role::output},
      {"sub_requests", Role::refused, {}, "agent sessions, whose steps wait for each other, can't be replayed"}};
  format.unit = TimeUnit::nanoseconds;
  format.origin = TraceConfig::Origin::zero;
  format.matches = [](const TraceHead& head) {
    return head.jsonl && head.has("arrival_time_ns") && (head.has("input_toks") || head.has("sub_requests"));
  };
  return format;
}

}  // namespace ridgeline
