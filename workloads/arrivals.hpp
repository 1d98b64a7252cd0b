// Arrival processes: how they are described, and how they run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/config.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// When requests arrive. Gaps between arrivals are drawn at rate one and stretched by the rate of the moment.
struct ArrivalConfig {
  enum class Process { poisson, gamma, weibull, constant, all_at_once, ramp, steps };

  Process process = Process::poisson;
  RequestsPerSecond request_rate;          ///< poisson, gamma, weibull, constant
  double burstiness = 1.0;  ///< gamma shape, as vLLM's: CV of the gaps = 1/sqrt(burstiness); also ramp, steps
  double shape = 1.0;                      ///< weibull shape k: below 1 burstier than Poisson
  /// vLLM's benchmark stretches the gaps so that the last of n requests arrives at n/request_rate exactly. Only with
  /// `num_prompts` and a constant rate.
  bool rescale = true;

  RequestsPerSecond ramp_up_start_rps;     ///< ramp: rate at the beginning,
  RequestsPerSecond ramp_up_end_rps;       ///< rate after
  Duration ramp_up_time;                   ///< this time, held from then on
  bool ramp_up_exponential = false;        ///< the rate grows by equal factors instead of equal steps

  std::vector<RequestsPerSecond> rates;    ///< steps: rates in order (0 = pause),
  std::vector<Duration> durations;         ///< each for so long;
  bool repeat = false;                     ///< then from the start again, or the workload ends
};

/// Reads `arrival:`, a process name or a map; `request_rate` and `burstiness` may instead stand beside it in
/// `workload`. Without a process of its own it alters `preset`, if there is one.
ArrivalConfig read_arrivals(MapReader& workload, const std::optional<ArrivalConfig>& preset, Diagnostics& errors);

/// As YAML in flow style, readable as the value of `arrival:`.
std::string to_yaml(const ArrivalConfig& arrivals);
/// For people: "gamma, 5.53/s, CV 1.09".
std::string describe(const ArrivalConfig& arrivals);

/// Yields arrival times, never decreasing; nullopt when the process ends.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  /// Throws ConfigError beyond the 106 days a run can last.
  virtual std::optional<Time> next() = 0;
};
/// `count` = number of requests when known: what `rescale` needs.
std::unique_ptr<ArrivalProcess> make_arrivals(const ArrivalConfig& arrivals, std::optional<std::int64_t> count,
                                              std::uint64_t seed);

}  // namespace ridgeline
