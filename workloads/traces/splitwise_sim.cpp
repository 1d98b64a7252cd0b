// splitwise-sim (github.com/Mutinifni/splitwise-sim):
// `request_id,request_type,application_id,arrival_timestamp,batch_size, prompt_size,token_size`, times in seconds,
// request_type 2 = LLM.
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat splitwise_sim_format() {
  TraceFormat format;
  format.name = "splitwise-sim";
  format.description = "splitwise-sim request traces, CSV";
  format.fields = {{"arrival_timestamp", Role::time},
                   {"prompt_size", Role::input},
                   {"token_size", Role::output},
                   {"request_type", Role::expected, "2", "only LLM requests (2) are served"},
                   {"batch_size", Role::expected, "1", "a row is one request"}};
  format.matches = [](const TraceHead& head) {
    return !head.jsonl && head.has_all({"arrival_timestamp", "prompt_size", "token_size"});
  };
  return format;
}

}  // namespace ridgeline
