// What a trace format is: a row of data about its columns, and how to recognise it. One file per format, one row in
// builtin.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/trace.hpp"

namespace ridgeline {

/// What a column means to us.
enum class Role {
  time,
  input,       ///< prompt tokens
  output,      ///< tokens generated
  max_tokens,  ///< tokens asked for
  priority,
  prefix,      ///< `X:12 Y:8`: known content, see ridgeline.cpp
  accepted,    ///< `3 0 1`: accepted drafts per verify step
  hash_ids,    ///< one id per block of the prompt: a JSON list, or `11|22` in CSV
  session,     ///< name of the conversation; empty = none
  chat,        ///< Qwen-Bailian's chains: this turn,
  parent_chat, ///< and the one before it; -1 = none
  delay,       ///< from the session's previous answer to this request, in the format's unit
  expected,    ///< must have the value `TraceField::expected`
  refused,     ///< must be absent, empty or null: we can't honour it
};

struct TraceField {
  std::string name;           ///< of the CSV column or JSON key, as written
  Role role;
  std::string expected = {};  ///< Role::expected
  std::string reason = {};    ///< Role::expected, Role::refused: "sessions that wait for … can't be replayed"
};

/// The first lines of a trace, for recognition.
struct TraceHead {
  bool jsonl = false;
  std::vector<std::string> names;   ///< header of a CSV, or keys of the first JSON object
  std::vector<std::string> values;  ///< fields of the first row; lists and objects are empty
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool has_all(const std::vector<std::string>& wanted) const;
  /// Value of the first row's field, empty when absent.
  [[nodiscard]] std::string value(std::string_view name) const;
};

class SessionStream;
struct WorkloadConfig;

struct TraceFormat {
  /// Whether requests wait for answers: decided by the rows where both occur.
  enum class Sessions { never, some, always };

  std::string name;
  std::string description;  ///< with the source of the schema
  bool jsonl = false;
  std::vector<TraceField> fields;  ///< aliases allowed; of two present for one role the earlier wins
  TimeUnit unit = TimeUnit::seconds;  ///< of numeric times, unless the column's name ends in _s, _ms, _us or _ns
  TraceConfig::Origin origin = TraceConfig::Origin::automatic;  ///< automatic: dates from the first row, numbers from 0
  Tokens block_size{0};  ///< tokens per hash id; 0 = the format has none of its own
  Sessions sessions = Sessions::never;
  std::unique_ptr<SessionStream> (*open_sessions)(const WorkloadConfig& workload, std::uint64_t seed) = nullptr;
  bool (*matches)(const TraceHead& head) = nullptr;
};

/// Every format, most specific first: the order of recognition.
const std::vector<TraceFormat>& trace_formats();

TraceFormat ridgeline_format();
TraceFormat azure_2023_format();
TraceFormat azure_2024_format();
TraceFormat azure_lmm_2025_format();
TraceFormat burstgpt_format();
TraceFormat vidur_format();
TraceFormat splitwise_sim_format();
TraceFormat qwen_bailian_format();
TraceFormat mooncake_format();
TraceFormat llm_serving_sim_format();
TraceFormat weka_format();
TraceFormat vllm_format();
TraceFormat vllm_jsonl_format();
TraceFormat generic_format();
TraceFormat generic_jsonl_format();

}  // namespace ridgeline
