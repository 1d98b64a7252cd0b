// A trace file as a workload: what the scenario says about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/config.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

enum class TimeUnit { seconds, milliseconds, microseconds, nanoseconds };

/// `trace:`, a file name or a map. Everything but the file has a default that depends on the format.
struct TraceConfig {
  enum class ZeroTokens { drop, keep_as_one, error };
  enum class Origin { automatic, first_row, zero };

  std::string file;                        ///< absolute
  std::string format = "auto";             ///< a name from `list_trace_formats`, or auto: decided by the first lines
  std::optional<std::string> arrival_column;  ///< columns by name where the format's own do not fit
  std::optional<std::string> input_column;
  std::optional<std::string> output_column;
  std::optional<TimeUnit> time_unit;       ///< of numeric times; null: the format's, or the column name's suffix
  Origin time_origin = Origin::automatic;  ///< what arrives at time zero: the first row (clocks) or the number 0
  double rate_scale = 1.0;                 ///< 2 = everything arrives twice as fast
  std::optional<Duration> start;  ///< rows before this time (trace time, from the origin) are left out; it becomes 0
  std::optional<Duration> end;             ///< rows at or after are left out
  ZeroTokens zero_tokens = ZeroTokens::drop;  ///< rows with no input or no output (failed requests in BurstGPT)
  std::optional<Tokens> trace_block_size;  ///< tokens per hash id; null: the format's
  bool use_hash_ids = true;                ///< false: prompts share nothing
  std::int64_t reorder_rows = 65'536;      ///< rows held to put late ones into their place; later than that is an error
};

/// Reads `trace:`; checks that the file opens and its format is known.
TraceConfig read_trace(const Config& node, Diagnostics& errors);

/// As YAML in flow style, readable by `read_trace`.
std::string to_yaml(const TraceConfig& trace);

}  // namespace ridgeline
