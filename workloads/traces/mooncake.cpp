// Mooncake (github.com/kvcache-ai/Mooncake, FAST'25): one object per line, `timestamp` in ms from the start,
// `input_length`, `output_length`, `hash_ids`: one id per 512 tokens of the prompt, the last block partly filled; equal
// leading ids = shared prefix. AIPerf and Dynamo extend it: other names of the same fields, 64-bit ids, float times,
// and rows of a `session_id` that wait for its previous turn and then for `delay` ms. A row's length is its whole prompt.
#include "workloads/traces/format.hpp"
#include "workloads/traces/session_trace.hpp"

namespace ridgeline {

TraceFormat mooncake_format() {
  const std::string no_lengths = "prompts without `input_length` can't be counted: there is no tokenizer";
  TraceFormat format;
  format.name = "mooncake";
  format.description = "Mooncake traces and their AIPerf/Dynamo extension, JSON lines";
  format.jsonl = true;
  format.fields = {{"timestamp", Role::time},
                   {"created_time", Role::time},
                   {"input_length", Role::input},
                   {"input_tokens", Role::input},
                   {"output_length", Role::output},
                   {"output_tokens", Role::output},
                   {"hash_ids", Role::hash_ids},
                   {"priority", Role::priority},
                   {"session_id", Role::session},
                   {"delay", Role::delay},
                   {"delay_ms", Role::delay},
                   {"text_input", Role::refused, {}, no_lengths},
                   {"messages", Role::refused, {}, no_lengths},
                   {"payload", Role::refused, {}, no_lengths}};
  format.sessions = TraceFormat::Sessions::some;
  format.open_sessions = open_row_sessions;
  format.unit = TimeUnit::milliseconds;
  format.origin = TraceConfig::Origin::zero;
  format.block_size = Tokens{512};
  format.matches = [](const TraceHead& head) {
    return head.jsonl &&
           (head.has("input_length") || head.has("hash_ids") || (head.has("created_time") && head.has("input_tokens")));
  };
  return format;
}

}  // namespace ridgeline
