// Times as traces write them, exact to the picosecond: decimal numbers in some unit, or calendar dates.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"
#include "workloads/traces/trace.hpp"

namespace ridgeline {

/// Picoseconds since the trace's own zero, or since 1970 for calendar dates: wider than a Duration (2023 is 53 years
/// away).
class Instant {
 public:
  __extension__ using Count = __int128;

  constexpr Instant() = default;
  constexpr explicit Instant(Count picoseconds) : picoseconds_(picoseconds) {}
  [[nodiscard]] constexpr Count picoseconds() const { return picoseconds_; }
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr bool operator==(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant a, Duration b) { return Instant{a.picoseconds_ + b.picoseconds()}; }
  /// nullopt when the difference does not fit a Duration (106 days).
  [[nodiscard]] std::optional<Duration> since(Instant origin) const;

 private:
  Count picoseconds_ = 0;
};

/// `12`, `3.429`, `1e-06`, in `unit`; digits below a picosecond round to nearest. nullopt when it is not such a number
/// or is beyond 10^13 seconds.
std::optional<Instant> parse_decimal_time(std::string_view text, TimeUnit unit);

/// `2023-11-16 18:15:46.6805900`, `2024-05-12 00:00:00+00:00`, `2024-10-15T12:00:00.269Z`: a blank or T between, any
/// number of fractional digits or none, and no zone (taken as UTC), Z, or an offset. nullopt when it is not such a
/// date.
std::optional<Instant> parse_date_time(std::string_view text);

}  // namespace ridgeline
