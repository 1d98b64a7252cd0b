// Qwen-Bailian (github.com/alibaba-edu/qwen-bailian-usagetraces-anon): Mooncake's fields with `chat_id`,
// `parent_chat_id`, `turn`, `type`; `timestamp` in seconds, `hash_ids` per 16 tokens. Turns are replayed at their own
// times; the chain of parents names the session, for routers.
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat qwen_bailian_format() {
  TraceFormat format;
  format.name = "qwen-bailian";
  format.description = "Qwen-Bailian usage traces, JSON lines";
  format.jsonl = true;
  format.fields = {{"timestamp", Role::time},
                   {"input_length", Role::input},
                   {"output_length", Role::output},
                   {"hash_ids", Role::hash_ids},
                   {"chat_id", Role::chat},
                   {"parent_chat_id", Role::parent_chat}};
  format.origin = TraceConfig::Origin::zero;
  format.block_size = Tokens{16};
  format.matches = [](const TraceHead& head) {
    return head.jsonl && head.has_all({"chat_id", "parent_chat_id", "input_length"});
  };
  return format;
}

}  // namespace ridgeline
