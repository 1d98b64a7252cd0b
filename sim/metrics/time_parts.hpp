// A latency taken apart: where its picoseconds went. The parts always sum to the whole.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/cost/price.hpp"

namespace ridgeline {

/// Where a request's time goes; docs/metrics.md defines each. `weights` to `host` are the causes of the request's own step:
/// its own prompt as if alone (within TTFT), the decode batch as if no prompts ran beside it (after the first token).
enum class TimePart : std::uint8_t {
  queue,          ///< sent, not yet in a step
  weights, kv, activations, compute, communication, overhead, host,
  prefills,       ///< other requests' prompts, in the same steps or before its own
  decodes,        ///< other requests' decodes beside or before its own prompt
  preempted,      ///< thrown out, waiting to be admitted again
  recomputation,  ///< of what a preemption threw away
  swap,           ///< KV of preempted requests crosses the host link in its steps
  idle,           ///< admitted, while its replica ran nothing
};
inline constexpr std::size_t time_part_count = 14;

constexpr std::string_view to_string(TimePart part) {
  constexpr std::array<std::string_view, time_part_count> names{
      "queue", "weights", "kv", "activations", "compute", "communication", "overhead",
      "host", "prefills", "decodes", "preempted", "recomputation", "swap", "idle"};
  return names[static_cast<std::size_t>(part)];
}

class TimeParts {
 public:
  Duration& operator[](TimePart part) { return parts_[static_cast<std::size_t>(part)]; }
  Duration operator[](TimePart part) const { return parts_[static_cast<std::size_t>(part)]; }
  TimeParts& operator+=(const TimeParts& other);
  TimeParts& operator-=(const TimeParts& other);
  friend TimeParts operator-(TimeParts a, const TimeParts& b) { return a -= b; }
  /// Adds the causes of a step; `idle` stays `idle`.
  TimeParts& operator+=(const TimeByCause& by_cause);
  [[nodiscard]] Duration total() const;
  [[nodiscard]] std::span<Duration> all() { return parts_; }
  friend bool operator==(const TimeParts&, const TimeParts&) = default;

 private:
  std::array<Duration, time_part_count> parts_{};
};

/// `parts` in proportion, so that they sum to `total` exactly: shares are rounded down, the largest takes what is left
/// (fewer picoseconds than there are parts). All of it becomes `overhead` when there is nothing to go by.
TimeByCause scaled_to(const TimeByCause& parts, Duration total);
/// The same for a latency; `idle` when there is nothing to go by.
TimeParts scaled_to(TimeParts parts, Duration total);

/// Mean over requests; sums to the mean of their totals, rounded down to a picosecond. Zero for none.
TimeParts mean_of(std::span<const TimeParts> requests);

/// `share` of the way from `a` to `b`, as percentiles between two ranks are; sums to `total`, which lies between both totals.
TimeParts between(const TimeParts& a, const TimeParts& b, double share, Duration total);

}  // namespace ridgeline
