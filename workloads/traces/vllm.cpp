// Request lists in vLLM's vocabulary (benchmarks/datasets.py SampleRequest: `prompt_len`, `expected_output_len`;
// serve.py results: `input_lens`, `output_lens`), as CSV or JSON lines. Times in seconds unless the column's name says
// otherwise; files without times need an arrival process.
#include "workloads/traces/format.hpp"

namespace ridgeline {

namespace {

TraceFormat vllm(std::string name, bool jsonl) {
  TraceFormat format;
  format.name = std::move(name);
  format.description =
      std::string("requests with prompt_len/output_len and an arrival time, ") + (jsonl ? "JSON lines" : "CSV");
  format.jsonl = jsonl;
  format.fields = {{"arrival_time", Role::time},
                   {"arrival", Role::time},
                   {"timestamp", Role::time},
                   {"start_time", Role::time},
                   {"arrival_time_s", Role::time},
                   {"arrival_time_ms", Role::time},
                   {"timestamp_ms", Role::time},
                   {"prompt_len", Role::input},
                   {"input_len", Role::input},
                   {"output_len", Role::output},
                   {"expected_output_len", Role::output},
                   {"max_tokens", Role::max_tokens},
                   {"priority", Role::priority}};
  return format;
}

bool speaks_vllm(const TraceHead& head) {
  return (head.has("prompt_len") || head.has("input_len")) &&
         (head.has("output_len") || head.has("expected_output_len"));
}

}  // namespace

TraceFormat vllm_format() {
  TraceFormat format = vllm("vllm", false);
  format.matches = [](const TraceHead& head) { return !head.jsonl && speaks_vllm(head); };
  return format;
}

TraceFormat vllm_jsonl_format() {
  TraceFormat format = vllm("vllm-jsonl", true);
  format.matches = [](const TraceHead& head) { return head.jsonl && speaks_vllm(head); };
  return format;
}

}  // namespace ridgeline
