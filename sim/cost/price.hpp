// Prices: how long, bounded by what, and how sure we are.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/base/units.hpp"

namespace ridgeline {

/// What a stretch of step time is spent on. `host` and `idle` never come from operators.
enum class Cause : std::uint8_t { weights, kv, activations, compute, communication, overhead, host, idle };
inline constexpr std::size_t cause_count = 8;

constexpr std::string_view to_string(Cause cause) {
  constexpr std::array<std::string_view, cause_count> names{"weights", "kv",       "activations", "compute",
                                                            "communication", "overhead", "host", "idle"};
  return names[static_cast<std::size_t>(cause)];
}

/// Time split by cause; the parts always sum to the whole, to the picosecond.
class TimeByCause {
 public:
  Duration& operator[](Cause cause) { return parts_[static_cast<std::size_t>(cause)]; }
  Duration operator[](Cause cause) const { return parts_[static_cast<std::size_t>(cause)]; }
  TimeByCause& operator+=(const TimeByCause& other) {
    for (std::size_t i = 0; i < cause_count; ++i) parts_[i] += other.parts_[i];
    return *this;
  }
  [[nodiscard]] Duration total() const {
    Duration sum;
    for (const Duration part : parts_) sum += part;
    return sum;
  }

 private:
  std::array<Duration, cause_count> parts_{};
};

/// Where a price comes from, best first.
enum class Provenance : std::uint8_t {
  measured,   ///< read off a measured table
  fitted,     ///< parameters fitted on measurements of this GPU
  family,     ///< parameters fitted on a sister GPU of the same architecture
  datasheet,  ///< datasheet peaks and default efficiencies only
  given,      ///< a constant from the scenario
};

constexpr std::string_view to_string(Provenance provenance) {
  constexpr std::array<std::string_view, 5> names{"measured", "fitted", "family", "datasheet", "given"};
  return names[static_cast<std::size_t>(provenance)];
}

/// The price of one occurrence of an operator.
struct OpPrice {
  Duration time;
  TimeByCause by_cause;  ///< sums to `time`
  Provenance provenance = Provenance::datasheet;
};

/// The price of one engine step: `total` is what the simulated clock advances by.
struct StepPrice {
  Duration total;
  Duration gpu;          ///< kernels and exposed communication
  Duration host;         ///< scheduling, sampling, detokenising; overlapped or not by engine profile
  Duration drafting;     ///< of `total`, what proposing the next drafts adds
  TimeByCause by_cause;  ///< sums to `total`
  Flops flops;           ///< model FLOPs per GPU, padding excluded
  Bytes bytes;           ///< weights, KV and activations per GPU
};

}  // namespace ridgeline
