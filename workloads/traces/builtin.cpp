// The list of trace formats.
#include <algorithm>

#include "workloads/traces/format.hpp"

namespace ridgeline {

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> formats{
      ridgeline_format(), azure_lmm_2025_format(),  azure_2024_format(), azure_2023_format(),
      burstgpt_format(),  splitwise_sim_format(),   vidur_format(),      qwen_bailian_format(),
      mooncake_format(),  llm_serving_sim_format(), weka_format(),       vllm_format(),
      vllm_jsonl_format(), generic_format(),        generic_jsonl_format(),
  };
  return formats;
}

bool TraceHead::has(std::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }

bool TraceHead::has_all(const std::vector<std::string>& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(), [this](const std::string& name) { return has(name); });
}

std::string TraceHead::value(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::size_t>(found - names.begin());
  return index < values.size() ? values[index] : std::string();
}

}  // namespace ridgeline
