#include "workloads/traces/instant.hpp"

#include <charconv>
#include <chrono>
#include <limits>

namespace ridgeline {

namespace {

using Count = Instant::Count;

constexpr Count most_picoseconds = Count{10'000'000'000'000} * 1'000'000'000'000;  // 10^13 s
constexpr int most_digits = 36;                                                    // 10^36 fits 127 bits

int exponent_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::seconds: return 12;
    case TimeUnit::milliseconds: return 9;
    case TimeUnit::microseconds: return 6;
    case TimeUnit::nanoseconds: return 3;
  }
  return 12;
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// digits * 10^exponent, rounded half up; nullopt when too large.
std::optional<Count> scaled(Count digits, int exponent) {
  for (; exponent > 0; --exponent) {
    if (digits > most_picoseconds) return std::nullopt;
    digits *= 10;
  }
  if (exponent < 0) {
    for (; exponent < -1; ++exponent) digits /= 10;
    digits = (digits + 5) / 10;
  }
  if (digits > most_picoseconds) return std::nullopt;
  return digits;
}

// `text` consists of exactly `count` digits from `at`; their value.
std::optional<int> fixed_digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// What follows the seconds of a date: an offset from UTC in seconds.
std::optional<int> parse_zone(std::string_view zone) {
  if (zone.empty() || zone == "Z" || zone == "z") return 0;
  if (zone[0] != '+' && zone[0] != '-') return std::nullopt;
  const auto hours = fixed_digits(zone, 1, 2);
  const bool colon = zone.size() > 3 && zone[3] == ':';
  const auto minutes = zone.size() == 3 ? std::optional(0) : fixed_digits(zone, colon ? 4 : 3, 2);
  if (!hours || !minutes || zone.size() > (colon ? 6u : 5u)) return std::nullopt;
  const int seconds = *hours * 3600 + *minutes * 60;
  return zone[0] == '+' ? seconds : -seconds;
}

}  // namespace

std::optional<Duration> Instant::since(Instant origin) const {
  const Count difference = picoseconds_ - origin.picoseconds_;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (difference > most || difference < -most) return std::nullopt;
  return Duration{static_cast<std::int64_t>(difference)};
}

std::optional<Instant> parse_decimal_time(std::string_view text, TimeUnit unit) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  Count digits = 0;
  int kept = 0, exponent = exponent_of(unit);
  bool any = false, point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (kept < most_digits) {
      digits = digits * 10 + (text[i] - '0');
      if (digits != 0) ++kept;
      if (point) --exponent;
    } else if (!point) {
      ++exponent;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    ++i;
    if (i < text.size() && text[i] == '+') ++i;
    int given = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), given);
    if (error != std::errc{} || end != text.data() + text.size() || given > 1000 || given < -1000) return std::nullopt;
    exponent += given;
  }
  if (digits == 0) return Instant{};
  const std::optional<Count> picoseconds = scaled(digits, exponent);
  if (!picoseconds) return std::nullopt;
  return Instant{negative ? -*picoseconds : *picoseconds};
}

std::optional<Instant> parse_date_time(std::string_view text) {
  // YYYY-MM-DD HH:MM:SS is 19 characters.
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto year = fixed_digits(text, 0, 4), month = fixed_digits(text, 5, 2), day = fixed_digits(text, 8, 2);
  const auto hour = fixed_digits(text, 11, 2), minute = fixed_digits(text, 14, 2), second = fixed_digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;

  Count below_second = 0;
  std::size_t i = 19;
  if (i < text.size() && text[i] == '.') {
    const std::size_t first = ++i;
    Count unit = 1'000'000'000'000;
    for (; i < text.size() && is_digit(text[i]); ++i) {
      unit /= 10;
      below_second += unit * (text[i] - '0');
    }
    if (i == first) return std::nullopt;
  }
  const std::optional<int> zone = parse_zone(text.substr(i));
  if (!zone) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds = days * 86'400 + *hour * 3'600 + *minute * 60 + *second - *zone;
  return Instant{Count{seconds} * 1'000'000'000'000 + below_second};
}

}  // namespace ridgeline
