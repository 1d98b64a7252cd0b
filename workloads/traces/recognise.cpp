// Which format is this file?
#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

void read_json_head(LineReader& lines, std::string_view line, TraceHead& head) {
  JsonRecord record;
  const std::string wrong = record.parse(line);
  if (!wrong.empty()) lines.fail(wrong);
  head.jsonl = true;
  for (std::size_t i = 0; i < record.size(); ++i) {
    head.names.push_back(record.field(i).name);
    head.values.push_back(record.field(i).text);
  }
}

void read_csv_head(LineReader& lines, std::string_view line, TraceHead& head) {
  CsvSplitter csv;
  const auto* names = csv.split(line);
  if (names == nullptr) lines.fail("a quote is out of place in the header");
  head.names.assign(names->begin(), names->end());
  if (std::any_of(names->begin(), names->end(), is_number)) {
    const bool servegen =
        head.names.size() == 6 && (head.names[3] == "Gamma" || head.names[3] == "Weibull" || head.names[3].empty());
    lines.fail(
        servegen
            ? "is a ServeGen client file: rates per window, not requests; `workload: {servegen: FOLDER}` generates from them"
            : "the first line holds numbers, expected a header with the names of the columns");
  }
  if (lines.next(line)) {
    const auto* values = csv.split(line);
    if (values != nullptr) head.values.assign(values->begin(), values->end());
  }
}

// The first by name of a folder's JSON files; any other path stays what it is.
std::string first_file(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  std::string first;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().string();
    if (entry.path().extension() == ".json" && (first.empty() || name < first)) first = name;
  }
  if (first.empty()) throw ConfigError(Diagnostic{{path}, {}, "is a directory without .json files, expected a trace"});
  return first;
}

void rename(TraceFormat& format, Role role, const std::optional<std::string>& column) {
  if (!column) return;
  std::erase_if(format.fields, [&](const TraceField& field) { return field.role == role || field.name == *column; });
  format.fields.push_back({*column, role});
}

}  // namespace

TraceHead read_head(const std::string& file) {
  LineReader lines(first_file(file));
  TraceHead head;
  std::string_view line;
  if (!lines.next(line)) lines.fail("is empty, expected a trace");
  line = trimmed(line);
  if (line.front() == '[') lines.fail("starts with a JSON list, expected one JSON object per line");
  if (line.front() == '{') {
    read_json_head(lines, line, head);
  } else {
    read_csv_head(lines, line, head);
  }
  return head;
}

TraceFormat choose_format(const TraceConfig& config, const TraceHead& head) {
  const auto& formats = trace_formats();
  const auto chosen =
      config.format == "auto"
          ? std::find_if(formats.begin(), formats.end(), [&](const TraceFormat& row) { return row.matches(head); })
          : std::find_if(formats.begin(), formats.end(), [&](const TraceFormat& row) {
              return row.name == config.format || (row.jsonl == head.jsonl && row.name == config.format + "-jsonl");
            });
  if (chosen == formats.end()) throw InternalError("no trace format `" + config.format + "`");
  TraceFormat format = *chosen;
  // `vllm` and `generic` exist as CSV and as JSON lines: the file decides.
  for (const TraceFormat& row : formats) {
    if (row.jsonl == head.jsonl && (row.name == format.name + "-jsonl" || row.name + "-jsonl" == format.name))
      format = row;
  }
  if (format.jsonl != head.jsonl) {
    throw ConfigError(Diagnostic{{config.file, 1, 0},
                                 {},
                                 fmt::format("is {}, but the format {} is {}", head.jsonl ? "JSON lines" : "CSV",
                                             format.name, format.jsonl ? "JSON lines" : "CSV")});
  }
  rename(format, Role::time, config.arrival_column);
  rename(format, Role::input, config.input_column);
  rename(format, Role::output, config.output_column);
  return format;
}

std::string_view name_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::seconds: return "s";
    case TimeUnit::milliseconds: return "ms";
    case TimeUnit::microseconds: return "us";
    case TimeUnit::nanoseconds: return "ns";
  }
  return "s";
}

}  // namespace ridgeline
