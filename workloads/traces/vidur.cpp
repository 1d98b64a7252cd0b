// Vidur's replay traces (github.com/microsoft/vidur, data/processed_traces): `arrived_at` (seconds from the start),
// `num_prefill_tokens`, `num_decode_tokens`; length-only files lack the time. Frontier (NetX-lab) adds `session_id` and
// `block_hash_ids` (`11|22`, 16 tokens each).
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat vidur_format() {
  TraceFormat format;
  format.name = "vidur";
  format.description = "Vidur and Frontier replay or length-only traces, CSV";
  format.fields = {{"arrived_at", Role::time},
                   {"num_prefill_tokens", Role::input},
                   {"num_decode_tokens", Role::output},
                   {"block_hash_ids", Role::hash_ids},
                   {"session_id", Role::session}};
  format.block_size = Tokens{16};
  format.matches = [](const TraceHead& head) {
    return !head.jsonl && head.has_all({"num_prefill_tokens", "num_decode_tokens"});
  };
  return format;
}

}  // namespace ridgeline
