#include "workloads/traces/trace.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "workloads/files.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

const std::vector<std::string> unit_names{"s", "ms", "us", "ns"};
const std::vector<std::string> zero_names{"drop", "keep_as_one", "error"};
const std::vector<std::string> origin_names{"auto", "first_row", "zero"};

template <class Enum>
Enum chosen(const std::string& name, const std::vector<std::string>& names) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}
template <class Enum>
const std::string& name_in(Enum value, const std::vector<std::string>& names) {
  return names[static_cast<std::size_t>(value)];
}

// `vllm-jsonl` and the like are reached by their plain name; the file tells which.
std::vector<std::string> format_names() {
  std::vector<std::string> names{"auto"};
  for (const TraceFormat& format : trace_formats()) {
    if (!format.name.ends_with("-jsonl")) names.push_back(format.name);
  }
  return names;
}

void read_columns(MapReader& trace, TraceConfig& config, Diagnostics& errors) {
  const std::optional<Config> node = trace.child("columns");
  if (!node) return;
  MapReader columns(*node, errors);
  config.arrival_column = columns.maybe<std::string>("arrival");
  config.input_column = columns.maybe<std::string>("input_tokens");
  config.output_column = columns.maybe<std::string>("output_tokens");
  columns.done();
}

}  // namespace

TraceConfig read_trace(const Config& node, Diagnostics& errors) {
  TraceConfig config;
  if (node.is_scalar()) {
    config.file = find_file(node.scalar(), node.where().file);
    return config;
  }
  MapReader trace(node, errors);
  const std::optional<Config> file = trace.require_child("file");
  if (file && file->is_scalar()) {
    config.file = find_file(file->scalar(), file->where().file);
  } else if (file) {
    errors.add(file->mistake("expected the name of a file"));
  }
  config.format = trace.choice("format", "auto", format_names());
  read_columns(trace, config, errors);
  if (trace.has("time_unit"))
    config.time_unit = chosen<TimeUnit>(trace.choice("time_unit", "s", unit_names), unit_names);
  config.time_origin = chosen<TraceConfig::Origin>(trace.choice("time_origin", "auto", origin_names), origin_names);
  config.rate_scale = trace.get<double>("rate_scale", 1.0, {1e-9, 1e9});
  config.start = trace.maybe<Duration>("start", non_negative);
  config.end = trace.maybe<Duration>("end", positive);
  if (config.end && config.end <= config.start.value_or(Duration{})) trace.mistake("end", "is not after `start`");
  config.zero_tokens = chosen<TraceConfig::ZeroTokens>(trace.choice("zero_tokens", "drop", zero_names), zero_names);
  config.trace_block_size = trace.maybe<Tokens>("trace_block_size", {1, 1'000'000});
  config.use_hash_ids = trace.get<bool>("use_hash_ids", true);
  config.reorder_rows = trace.get<std::int64_t>("reorder_rows", config.reorder_rows, {0, 1e9});
  trace.done();
  return config;
}

std::string to_yaml(const TraceConfig& trace) {
  std::string text = fmt::format("{{file: {}, format: {}", quoted(trace.file), trace.format);
  std::string columns;
  const auto column = [&](const char* key, const std::optional<std::string>& name) {
    if (name) columns += fmt::format("{}{}: {}", columns.empty() ? "" : ", ", key, quoted(*name));
  };
  column("arrival", trace.arrival_column);
  column("input_tokens", trace.input_column);
  column("output_tokens", trace.output_column);
  if (!columns.empty()) text += ", columns: {" + columns + "}";
  if (trace.time_unit) text += fmt::format(", time_unit: {}", name_in(*trace.time_unit, unit_names));
  text += fmt::format(", time_origin: {}", name_in(trace.time_origin, origin_names));
  text += fmt::format(", rate_scale: {}", trace.rate_scale);
  if (trace.start) text += fmt::format(", start: {} s", trace.start->seconds());
  if (trace.end) text += fmt::format(", end: {} s", trace.end->seconds());
  text += fmt::format(", zero_tokens: {}", name_in(trace.zero_tokens, zero_names));
  if (trace.trace_block_size) text += fmt::format(", trace_block_size: {}", trace.trace_block_size->count());
  text += fmt::format(", use_hash_ids: {}, reorder_rows: {}}}", trace.use_hash_ids, trace.reorder_rows);
  return text;
}

}  // namespace ridgeline
