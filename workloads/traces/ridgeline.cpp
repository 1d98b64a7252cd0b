// Our own request lists, CSV: `arrival_s,input_tokens,output_tokens[,priority][,max_tokens][,prefix][,accepted]`.
//
// `max_tokens` is what the scheduler is told (default: output_tokens). `prefix` = `X:12 Y:8`: the prompt starts with 12
// tokens of content X, then 8 of Y, the rest is unique; `out3` names the outputs of request 3. `accepted` = `3 0 1`:
// accepted drafts per verify step, cyclic.
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat ridgeline_format() {
  TraceFormat format;
  format.name = "ridgeline";
  format.description = "arrival_s,input_tokens,output_tokens[,priority][,max_tokens][,prefix][,accepted], CSV";
  format.fields = {{"arrival_s", Role::time},       {"input_tokens", Role::input}, {"output_tokens", Role::output},
                   {"max_tokens", Role::max_tokens}, {"priority", Role::priority},  {"prefix", Role::prefix},
                   {"accepted", Role::accepted}};
  format.origin = TraceConfig::Origin::zero;
  format.matches = [](const TraceHead& head) {
    return !head.jsonl && head.has_all({"arrival_s", "input_tokens", "output_tokens"});
  };
  return format;
}

}  // namespace ridgeline
