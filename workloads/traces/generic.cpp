// Any table of requests: well-known column names, or those given under `columns:`. Times are numbers (seconds unless
// the name or `time_unit` says otherwise) or dates.
#include "workloads/traces/format.hpp"

namespace ridgeline {

namespace {

TraceFormat generic(std::string name, bool jsonl) {
  TraceFormat format;
  format.name = std::move(name);
  format.description = std::string("any ") + (jsonl ? "JSON lines" : "CSV") + " with named columns (`columns:`)";
  format.jsonl = jsonl;
  format.fields = {{"arrival_s", Role::time},
                   {"arrival_ms", Role::time},
                   {"arrival_us", Role::time},
                   {"arrival_ns", Role::time},
                   {"timestamp_s", Role::time},
                   {"timestamp_ms", Role::time},
                   {"timestamp_us", Role::time},
                   {"timestamp_ns", Role::time},
                   {"arrival", Role::time},
                   {"arrival_time", Role::time},
                   {"arrived_at", Role::time},
                   {"timestamp", Role::time},
                   {"Timestamp", Role::time},
                   {"TIMESTAMP", Role::time},
                   {"time", Role::time},
                   {"input_tokens", Role::input},
                   {"prompt_tokens", Role::input},
                   {"input_length", Role::input},
                   {"output_tokens", Role::output},
                   {"completion_tokens", Role::output},
                   {"output_length", Role::output},
                   {"max_tokens", Role::max_tokens},
                   {"priority", Role::priority},
                   {"hash_ids", Role::hash_ids}};
  return format;
}

}  // namespace

TraceFormat generic_format() {
  TraceFormat format = generic("generic", false);
  format.matches = [](const TraceHead& head) { return !head.jsonl; };
  return format;
}

TraceFormat generic_jsonl_format() {
  TraceFormat format = generic("generic-jsonl", true);
  format.matches = [](const TraceHead& head) { return head.jsonl; };
  return format;
}

}  // namespace ridgeline
