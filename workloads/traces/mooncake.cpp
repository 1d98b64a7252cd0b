// Mooncake (github.com/kvcache-ai/Mooncake, FAST'25): one object per line, `timestamp` in ms from the start,
// `input_length`, `output_length`, `hash_ids`: one id per 512 tokens of the prompt, the last block partly filled; equal
// leading ids = shared prefix. AIPerf and Dynamo extend it: other names of the same fields, 64-bit ids, float times,
// and rows that wait for the previous turn of their session (`delay`), which an open-loop replay can't honour.
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat mooncake_format() {
  const std::string closed_loop = "turns that wait for the previous answer of their session can't be replayed";
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
                   {"delay", Role::refused, {}, closed_loop},
                   {"delay_ms", Role::refused, {}, closed_loop}};
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
