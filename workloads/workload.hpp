// Who asks, when, for how much: a scenario's `workload:` map, typed, and the stream of requests it stands for.
//
// Either generated (arrival process + lengths, perhaps from a preset) or a trace file. Keys are vLLM's serving
// benchmark's where it has one; workloads/README.md lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/config.hpp"
#include "sim/serving/request_source.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/lengths.hpp"
#include "workloads/servegen.hpp"
#include "workloads/sessions.hpp"
#include "workloads/statistics.hpp"
#include "workloads/traces/trace.hpp"

namespace ridgeline {

/// Prefixes (system prompts) that many requests share, put in front of the drawn input: one of `count` is picked per
/// request, or per session. Each has a length of its own, drawn once.
struct SharedPrefixConfig {
  LengthConfig tokens;
  std::int64_t count = 1;
  double zipf_exponent = 0.0;  ///< popularity of prefix k falls with k^-exponent; 0 = all alike
};

/// A workload, resolved: the preset's values are already in the other fields.
struct WorkloadConfig {
  std::string preset;  ///< where the defaults came from; for display only
  std::optional<std::int64_t> num_prompts;      ///< requests at most
  std::optional<Duration> duration;             ///< no arrival at or after this instant
  std::optional<ArrivalConfig> arrival;         ///< null: the trace's own times
  std::optional<std::int64_t> max_concurrency;  ///< closed loop: requests in flight at most, held back by the client
  std::optional<std::int64_t> max_concurrent_sessions;  ///< a later session starts when one of so many has ended
  std::optional<LengthConfig> input_tokens;     ///< null: the trace's
  std::optional<LengthConfig> output_tokens;    ///< where the model stops by itself
  std::optional<LengthConfig> max_tokens;       ///< what the client asks for at most; null: exactly `output_tokens`
  Tokens min_tokens{1};                         ///< the model can't stop earlier
  bool ignore_eos = false;                      ///< the model can't stop before `max_tokens`
  std::optional<SharedPrefixConfig> shared_prefix;
  std::optional<SessionConfig> sessions;        ///< requests are turns that wait for answers; arrivals are sessions'
  std::optional<TraceConfig> trace;
  std::optional<ServegenConfig> servegen;       ///< clients with rates over time and lengths of their own
};

/// Reads a `workload:` map. Mistakes, unreadable files included, go to `errors` with their place. Relative file names
/// are looked up beside the file that names them, then in the working directory.
WorkloadConfig read_workload(const Config& node, Diagnostics& errors);

/// The resolved workload as a map that `read_workload` reads back to the same value.
Config to_config(const WorkloadConfig& workload);

/// What became of the workload so far, for the report.
struct WorkloadNotes {
  std::string description;            ///< one line: format, units, process, lengths
  std::vector<std::string> warnings;  ///< "the first 20 h carry 93 times fewer requests than ...": whole sentences
  WorkloadStatistics::Summary statistics;
  std::int64_t sessions = 0;          ///< conversations or agents that were started
  std::int64_t rows_read = 0;         ///< of the trace, header and empty lines excluded
  std::int64_t zero_rows = 0;         ///< of those, with a zero length (see TraceConfig::zero_tokens)
  std::int64_t late_rows = 0;         ///< of those, put back into their place in time
};

/// A request source that keeps count of what it yields.
class WorkloadSource : public RequestSource {
 public:
  std::optional<RequestSpec> next() final {
    std::optional<RequestSpec> request = produce();
    if (request) statistics_.add(*request);
    return request;
  }
  /// Notes on everything yielded so far; complete once the workload is exhausted.
  [[nodiscard]] WorkloadNotes notes() const;

 protected:
  virtual std::optional<RequestSpec> produce() = 0;
  /// Fills in what the kind of source knows; statistics and their warnings are already there.
  virtual void annotate(WorkloadNotes& notes) const = 0;

 private:
  WorkloadStatistics statistics_;
};

/// The stream of requests: a pure function of (workload, seed), whatever the fleet. Constant memory; a trace is read as
/// the simulation goes. Throws ConfigError when a trace cannot be opened or a row cannot be read (file and line named).
std::unique_ptr<WorkloadSource> make_source(const WorkloadConfig& workload, std::uint64_t seed);

/// One line for people: "azure-2023 CSV `x.csv`, own times from the first row" or "gamma arrivals, ...".
std::string describe(const WorkloadConfig& workload);

/// A built-in preset, for `ridgeline list workloads`.
struct PresetRow {
  std::string name;
  std::string description;  ///< the first comment line of the YAML
};
std::vector<PresetRow> list_presets();

/// A trace format, for `ridgeline list workloads`.
std::vector<PresetRow> list_trace_formats();

}  // namespace ridgeline
