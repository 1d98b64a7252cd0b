#include "workloads/workload.hpp"

#include <fmt/format.h>

#include "workloads/presets.hpp"
#include "workloads/source.hpp"
#include "workloads/traces/session_trace.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

void read_length(MapReader& map, std::string_view key, std::optional<LengthConfig>& lengths, Diagnostics& errors) {
  if (const std::optional<Config> node = map.child(key)) lengths = read_lengths(*node, errors);
}

void read_shared_prefix(MapReader& map, WorkloadConfig& workload, Diagnostics& errors) {
  const std::optional<Config> node = map.child("shared_prefix");
  if (!node) return;
  MapReader prefix(*node, errors);
  SharedPrefixConfig config;
  if (const auto tokens = prefix.require_child("tokens")) config.tokens = read_lengths(*tokens, errors);
  config.count = prefix.get<std::int64_t>("count", 1, {1, 1e12});
  config.zipf_exponent = prefix.get<double>("zipf_exponent", 0.0, {0.0, 100.0});
  prefix.done();
  workload.shared_prefix = config;
}

// Reads the keys of `map` over what `workload` already holds.
void read_keys(MapReader& map, WorkloadConfig& workload, Diagnostics& errors) {
  if (const auto value = map.maybe<std::int64_t>("num_prompts", {1, 1e12})) workload.num_prompts = value;
  if (const auto value = map.maybe<Duration>("duration", positive)) workload.duration = value;
  if (const auto value = map.maybe<std::int64_t>("max_concurrency", {1, 1e9})) workload.max_concurrency = value;
  if (const auto value = map.maybe<std::int64_t>("max_concurrent_sessions", {1, 1e9})) {
    workload.max_concurrent_sessions = value;
  }
  if (const std::optional<Config> trace = map.child("trace")) workload.trace = read_trace(*trace, errors);
  if (map.has("arrival") || map.has("request_rate") || map.has("burstiness")) {
    workload.arrival = read_arrivals(map, workload.arrival, errors);
  }
  map.child("arrival"), map.child("request_rate"), map.child("burstiness");
  read_length(map, "input_tokens", workload.input_tokens, errors);
  read_length(map, "output_tokens", workload.output_tokens, errors);
  read_length(map, "max_tokens", workload.max_tokens, errors);
  workload.min_tokens = map.get<Tokens>("min_tokens", workload.min_tokens, {1, longest_length.as_double()});
  workload.ignore_eos = map.get<bool>("ignore_eos", workload.ignore_eos);
  read_shared_prefix(map, workload, errors);
  if (const auto servegen = map.child("servegen")) workload.servegen = read_servegen(*servegen, errors);
  if (const auto sessions = map.child("sessions")) workload.sessions = read_sessions(*sessions, errors);
  map.done();
}

// The preset that the workload names; an empty workload when it names none.
WorkloadConfig read_preset(MapReader& map, Diagnostics& errors) {
  WorkloadConfig workload;
  const std::optional<std::string> name = map.maybe<std::string>("preset");
  if (!name) return workload;
  std::vector<std::string> names;
  for (const EmbeddedFile& file : workload_presets()) {
    names.emplace_back(file.name);
    if (file.name != *name) continue;
    MapReader preset(Config::parse(file.text, *name + ".yaml"), errors);
    read_keys(preset, workload, errors);
    workload.preset = *name;
    return workload;
  }
  map.mistake("preset", "unknown preset `" + *name + "`" + suggestion(*name, names));
  return workload;
}

void check_servegen(MapReader& map, const WorkloadConfig& workload) {
  const auto refuse = [&](bool given, const char* key) {
    if (given) map.mistake(key, "stands beside `servegen`, whose clients have their own");
  };
  refuse(workload.trace.has_value(), "trace");
  refuse(workload.arrival.has_value(), "arrival");
  refuse(!workload.preset.empty(), "preset");
  refuse(workload.max_concurrent_sessions.has_value(), "max_concurrent_sessions");
  refuse(workload.input_tokens.has_value(), "input_tokens");
  refuse(workload.output_tokens.has_value(), "output_tokens");
  refuse(workload.sessions.has_value(), "sessions");
  refuse(workload.shared_prefix.has_value(), "shared_prefix");
}

void check_sessions(MapReader& map, const WorkloadConfig& workload) {
  if (workload.max_concurrent_sessions && !workload.sessions && !workload.trace) {
    map.mistake("max_concurrent_sessions", "needs `sessions` or a trace that has them");
  }
  if (!workload.sessions) return;
  if (workload.trace) map.mistake("sessions", "is for generated requests; a trace has its own");
  if (workload.num_prompts) {
    map.mistake("num_prompts", "counts requests, and sessions are never cut; give `sessions.num_sessions` or `duration`");
  }
}

// What the parts must give together.
void check_whole(MapReader& map, const WorkloadConfig& workload) {
  if (workload.servegen) {
    check_servegen(map, workload);
    return;
  }
  if (!workload.arrival && !workload.trace) {
    map.mistake("arrival", "is missing: how requests arrive (`request_rate`, `arrival`, `max_concurrency` or `trace`)");
  }
  if (workload.trace && !workload.preset.empty()) map.mistake("preset", "stands beside `trace`: give one or the other");
  if (workload.shared_prefix && workload.trace)
    map.mistake("shared_prefix", "is for generated prompts; a trace has its own");
  if (workload.max_tokens && workload.max_tokens->distribution == LengthConfig::Distribution::fixed &&
      workload.max_tokens->tokens < workload.min_tokens) {
    map.mistake("min_tokens", "is above `max_tokens`");
  }
  check_sessions(map, workload);
  if (workload.trace) return;
  if (!workload.input_tokens) map.mistake("input_tokens", "is missing (or `preset` or `trace`)");
  if (!workload.output_tokens && !(workload.ignore_eos && workload.max_tokens)) {
    map.mistake("output_tokens", "is missing (or `preset` or `trace`)");
  }
  const bool steps_end =
      workload.arrival && workload.arrival->process == ArrivalConfig::Process::steps && !workload.arrival->repeat;
  const bool at_once = workload.arrival && workload.arrival->process == ArrivalConfig::Process::all_at_once;
  if (workload.sessions) {
    if (!workload.sessions->num_sessions && (!workload.duration || at_once) && !steps_end) {
      map.mistake("sessions", "have no end: give `num_sessions` (or `duration`)");
    }
    return;
  }
  if (!workload.num_prompts && (!workload.duration || at_once) && !steps_end) {
    map.mistake("num_prompts", at_once ? "is missing: how many requests there are"
                                       : "is missing: the workload has no end (`num_prompts` or `duration`)");
  }
}

// A trace of sessions is read as a whole, or its first session: prompts are what was said before, and nothing is cut short.
void check_session_trace(MapReader& map, const WorkloadConfig& workload) {
  if (workload.num_prompts) map.mistake("num_prompts", "counts requests, and the trace's sessions are never cut; `duration` ends their starts");
  if (workload.input_tokens) map.mistake("input_tokens", "the trace's sessions have prompts that continue each other");
  const bool timeless = choose_format(*workload.trace, read_head(workload.trace->file)).sessions == TraceFormat::Sessions::always;
  if (timeless && (workload.trace->start || workload.trace->end || workload.trace->rate_scale != 1.0)) {
    map.mistake("trace", "its sessions have no times of their own: `start`, `end` and `rate_scale` mean nothing; `arrival` starts them");
  }
  if (!open_session_trace(workload, 0)->next()) {
    map.mistake("trace", workload.trace->file + ": no session starts within `start`, `end` and `duration`");
  }
}

// Opens the trace and reads its first row, so that a wrong file is reported with everything else. A bad row farther
// down is found when it is reached.
void check_trace(MapReader& map, const WorkloadConfig& workload) {
  if (!workload.trace || workload.trace->file.empty()) return;
  try {
    if (has_sessions(*workload.trace)) {
      check_session_trace(map, workload);
      return;
    }
    if (workload.max_concurrent_sessions) map.mistake("max_concurrent_sessions", "the trace has no sessions that wait for answers");
    TraceReader reader(*workload.trace, trace_needs(workload));
    TraceRow row;
    if (!reader.next(row)) reader.fail("has no rows");
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      const SourceLocation& place = diagnostic.where;
      map.mistake("trace", place.line > 0 ? fmt::format("{}:{}: {}", place.file, place.line, diagnostic.message)
                                          : fmt::format("{}: {}", place.file, diagnostic.message));
    }
  }
}

}  // namespace

WorkloadConfig read_workload(const Config& node, Diagnostics& errors) {
  const std::size_t mistakes_before = errors.size();
  MapReader map(node, errors);
  WorkloadConfig workload = read_preset(map, errors);
  read_keys(map, workload, errors);
  if (errors.size() > mistakes_before) return workload;
  const bool held_back = workload.max_concurrency || workload.max_concurrent_sessions;
  if (!workload.arrival && !workload.trace && !workload.servegen && held_back) {
    // vLLM's benchmark: without a request rate every request is ready at once, and max_concurrency holds it back.
    workload.arrival = ArrivalConfig{};
    workload.arrival->process = ArrivalConfig::Process::all_at_once;
  }
  check_whole(map, workload);
  check_trace(map, workload);
  return workload;
}

Config to_config(const WorkloadConfig& workload) {
  std::string text;
  const auto line = [&](std::string_view key, const auto& value) { text += fmt::format("{}: {}\n", key, value); };
  if (!workload.preset.empty()) line("preset", workload.preset);
  if (workload.num_prompts) line("num_prompts", *workload.num_prompts);
  if (workload.duration) line("duration", fmt::format("{} s", workload.duration->seconds()));
  if (workload.arrival) line("arrival", to_yaml(*workload.arrival));
  if (workload.max_concurrency) line("max_concurrency", *workload.max_concurrency);
  if (workload.max_concurrent_sessions) line("max_concurrent_sessions", *workload.max_concurrent_sessions);
  if (workload.input_tokens) line("input_tokens", to_yaml(*workload.input_tokens));
  if (workload.output_tokens) line("output_tokens", to_yaml(*workload.output_tokens));
  if (workload.max_tokens) line("max_tokens", to_yaml(*workload.max_tokens));
  line("min_tokens", workload.min_tokens.count());
  line("ignore_eos", workload.ignore_eos);
  if (workload.shared_prefix) {
    line("shared_prefix", fmt::format("{{tokens: {}, count: {}, zipf_exponent: {}}}", to_yaml(workload.shared_prefix->tokens),
                                      workload.shared_prefix->count, workload.shared_prefix->zipf_exponent));
  }
  if (workload.sessions) line("sessions", to_yaml(*workload.sessions));
  if (workload.trace) line("trace", to_yaml(*workload.trace));
  if (workload.servegen) line("servegen", to_yaml(*workload.servegen));
  return Config::parse(text, "resolved workload");
}

}  // namespace ridgeline
