// What `ridgeline list workloads` shows.
#include "workloads/presets.hpp"
#include "workloads/traces/format.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

std::vector<PresetRow> list_presets() {
  std::vector<PresetRow> rows;
  for (const EmbeddedFile& file : workload_presets()) {
    const std::string_view first = file.text.substr(0, file.text.find('\n'));
    rows.push_back({std::string(file.name), std::string(first.substr(first.find_first_not_of("# ")))});
  }
  return rows;
}

std::vector<PresetRow> list_trace_formats() {
  std::vector<PresetRow> rows;
  for (const TraceFormat& format : trace_formats()) {
    if (format.name.ends_with("-jsonl")) continue;
    rows.push_back({format.name, format.description});
  }
  return rows;
}

}  // namespace ridgeline
