// Strong types for every quantity that crosses an interface.
//
// A value enters a type explicitly (`Bytes{80}`) and leaves it explicitly (`.count()`); unlike quantities do not mix:
// `Time + Time` does not compile (tests/compile_fail). Integer quantities are overflow-checked.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace detail {

template <class Rep>
constexpr Rep checked_add(Rep a, Rep b) {
  if constexpr (std::is_integral_v<Rep>) {
    Rep sum{};
    if (__builtin_add_overflow(a, b, &sum)) throw InternalError("integer overflow in a quantity (addition)");
    return sum;
  } else {
    return a + b;
  }
}

template <class Rep>
constexpr Rep checked_subtract(Rep a, Rep b) {
  if constexpr (std::is_integral_v<Rep>) {
    Rep difference{};
    if (__builtin_sub_overflow(a, b, &difference)) throw InternalError("integer overflow in a quantity (subtraction)");
    return difference;
  } else {
    return a - b;
  }
}

template <class Rep>
constexpr Rep checked_multiply(Rep a, Rep b) {
  if constexpr (std::is_integral_v<Rep>) {
    Rep product{};
    if (__builtin_mul_overflow(a, b, &product)) throw InternalError("integer overflow in a quantity (multiplication)");
    return product;
  } else {
    return a * b;
  }
}

/// Rounds up to a 64-bit integer; a value that does not fit is our bug (inputs are range-checked on load).
inline std::int64_t ceil_to_int64(double value) {
  const double up = std::ceil(value);
  if (!(up >= -9.2e18 && up <= 9.2e18)) throw InternalError("a quantity exceeds the 64-bit range or is not a number");
  return static_cast<std::int64_t>(up);
}

}  // namespace detail

/// A linear quantity: adds to its own kind, scales by plain numbers of its representation, divides to a ratio.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep count() const { return value_; }
  [[nodiscard]] constexpr double as_double() const { return static_cast<double>(value_); }

  static constexpr Quantity max() { return Quantity{std::numeric_limits<Rep>::max()}; }

  constexpr Quantity& operator+=(Quantity other) { return value_ = detail::checked_add(value_, other.value_), *this; }
  constexpr Quantity& operator-=(Quantity other) {
    return value_ = detail::checked_subtract(value_, other.value_), *this;
  }
  constexpr Quantity& operator*=(Rep factor) { return value_ = detail::checked_multiply(value_, factor), *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator-(Quantity a) { return Quantity{} - a; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return a *= factor; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a *= factor; }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity{a.value_ / divisor}; }
  /// Ratio of two like quantities; integer division for integer quantities.
  friend constexpr Rep operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr bool operator==(Quantity, Quantity) = default;

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Tokens = Quantity<struct TokensTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Joules = Quantity<struct JoulesTag, double>;
using Dollars = Quantity<struct DollarsTag, double>;
using DollarsPerHour = Quantity<struct DollarsPerHourTag, double>;
using RequestsPerSecond = Quantity<struct RequestsPerSecondTag, double>;

/// A span of simulated time in integer picoseconds (64 bits: 106 days).
class Duration : public Quantity<struct DurationTag, std::int64_t> {
 public:
  using Base = Quantity<struct DurationTag, std::int64_t>;
  using Base::Base;
  constexpr Duration() = default;
  constexpr Duration(Base base) : Base(base) {}  // NOLINT: results of Quantity arithmetic are durations

  static constexpr Duration picoseconds(std::int64_t n) { return Duration{n}; }
  static constexpr Duration nanoseconds(std::int64_t n) { return Duration{detail::checked_multiply<std::int64_t>(n, 1'000)}; }
  static constexpr Duration microseconds(std::int64_t n) {
    return Duration{detail::checked_multiply<std::int64_t>(n, 1'000'000)};
  }
  static constexpr Duration milliseconds(std::int64_t n) {
    return Duration{detail::checked_multiply<std::int64_t>(n, 1'000'000'000)};
  }
  /// Nearest picosecond. Throws InternalError when out of range or NaN.
  static Duration seconds(double s) {
    const double ps = std::nearbyint(s * 1e12);
    if (!(ps >= -9.2e18 && ps <= 9.2e18)) throw InternalError("a duration exceeds 106 days or is not a number");
    return Duration{static_cast<std::int64_t>(ps)};
  }

  [[nodiscard]] constexpr std::int64_t picoseconds() const { return count(); }
  [[nodiscard]] constexpr double seconds() const { return as_double() * 1e-12; }
  [[nodiscard]] constexpr double milliseconds() const { return as_double() * 1e-9; }
  [[nodiscard]] constexpr double microseconds() const { return as_double() * 1e-6; }
};

/// An instant of simulated time: picoseconds since the run began. Differences are Durations; sums do not exist.
class Time {
 public:
  constexpr Time() = default;
  constexpr explicit Time(Duration since_start) : since_start_(since_start) {}

  static constexpr Time max() { return Time{Duration{std::numeric_limits<std::int64_t>::max()}}; }

  [[nodiscard]] constexpr Duration since_start() const { return since_start_; }
  [[nodiscard]] constexpr double seconds() const { return since_start_.seconds(); }

  constexpr Time& operator+=(Duration d) { return since_start_ += d, *this; }
  friend constexpr Time operator+(Time t, Duration d) { return t += d; }
  friend constexpr Time operator+(Duration d, Time t) { return t += d; }
  friend constexpr Time operator-(Time t, Duration d) { return Time{t.since_start_ - d}; }
  friend constexpr Duration operator-(Time a, Time b) { return a.since_start_ - b.since_start_; }
  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr bool operator==(Time, Time) = default;

 private:
  Duration since_start_;
};

/// Time to move `bytes`, rounded up to a picosecond: the one place where bytes become time.
inline Duration operator/(Bytes bytes, BytesPerSecond rate) {
  return Duration{detail::ceil_to_int64(bytes.as_double() / rate.count() * 1e12)};
}
/// Time to compute `flops`, rounded up to a picosecond.
inline Duration operator/(Flops flops, FlopsPerSecond rate) {
  return Duration{detail::ceil_to_int64(flops.count() / rate.count() * 1e12)};
}
inline Joules operator*(Watts power, Duration time) { return Joules{power.count() * time.seconds()}; }

/// Integer division rounding up, for non-negative operands.
template <class Integer>
constexpr Integer ceil_divide(Integer a, Integer b) {
  static_assert(std::is_integral_v<Integer>);
  return (a + b - 1) / b;
}

inline constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes{static_cast<std::int64_t>(n) << 10}; }
inline constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes{static_cast<std::int64_t>(n) << 20}; }
inline constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes{static_cast<std::int64_t>(n) << 30}; }

}  // namespace ridgeline
