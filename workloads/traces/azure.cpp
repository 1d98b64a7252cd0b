// Azure's LLM inference traces (github.com/Azure/AzurePublicDataset, CC-BY-4.0).
//
// 2023 (Splitwise, ISCA'24): `TIMESTAMP,ContextTokens,GeneratedTokens`, CRLF, no newline at the end; `2023-11-16
// 18:15:46.6805900`. 2024 (DynamoLLM, HPCA'25): the same columns; `2024-05-10 00:00:00.009930+00:00`, the fraction
// missing on whole seconds. LMM 2025 (ModServe): `NumImages` added; `2024-10-15T12:00:00.269Z`. ContextTokens is taken
// as it stands, images are not priced.
#include "workloads/traces/format.hpp"

namespace ridgeline {

namespace {

const std::vector<std::string> columns{"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

TraceFormat azure(std::string name, std::string description, bool (*matches)(const TraceHead&)) {
  TraceFormat format;
  format.name = std::move(name);
  format.description = std::move(description);
  format.fields = {{"TIMESTAMP", Role::time}, {"ContextTokens", Role::input}, {"GeneratedTokens", Role::output}};
  format.origin = TraceConfig::Origin::first_row;
  format.matches = matches;
  return format;
}

// Dates are 19 characters up to the second; what follows them tells the year of the dataset.
bool has_zone(const TraceHead& head) {
  const std::string time = head.value("TIMESTAMP");
  return time.size() > 19 && time.find_first_of("+Z", 19) != std::string::npos;
}

}  // namespace

TraceFormat azure_2023_format() {
  return azure("azure-2023", "Azure LLM inference trace 2023 (code, conversation), CSV",
               [](const TraceHead& head) { return !head.jsonl && head.has_all(columns); });
}

TraceFormat azure_2024_format() {
  return azure("azure-2024", "Azure LLM inference trace 2024 (code, conversation), CSV",
               [](const TraceHead& head) { return !head.jsonl && head.has_all(columns) && has_zone(head); });
}

TraceFormat azure_lmm_2025_format() {
  return azure("azure-lmm-2025", "Azure multimodal inference trace 2025, CSV; images as their ContextTokens say",
               [](const TraceHead& head) { return !head.jsonl && head.has_all(columns) && head.has("NumImages"); });
}

}  // namespace ridgeline
