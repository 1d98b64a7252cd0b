// Reading typed values off a document: numbers, quantities with units, and maps key by key.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/config.hpp"

namespace ridgeline {

namespace {

std::string path_of(const Config& map, std::string_view key) {
  return map.path().empty() ? std::string(key) : map.path() + "." + std::string(key);
}

std::string shown(const Config& node) {
  switch (node.kind()) {
    case Config::Kind::null: return "nothing";
    case Config::Kind::sequence: return "a list";
    case Config::Kind::map: return "a map";
    case Config::Kind::scalar: break;
  }
  std::string text = node.scalar().substr(0, 60);
  if (node.scalar().size() > 60) text += "…";
  return "`" + text + "`" + (node.is_quoted() ? " (a quoted string)" : "");
}

// The leading number of `text`, and what follows it with blanks trimmed. NaN and infinities are not numbers here.
std::optional<std::pair<double, std::string>> split_number(const std::string& text) {
  double value = 0;
  const char* first = text.data();
  if (!text.empty() && *first == '+') ++first;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  std::string rest(end, text.data() + text.size());
  rest.erase(0, rest.find_first_not_of(' '));
  rest.erase(rest.find_last_not_of(' ') + 1);
  return std::pair{value, rest};
}

std::string describe(Range range) {
  if (range.least == -std::numeric_limits<double>::infinity() && range.most == std::numeric_limits<double>::infinity()) return "";
  if (range.most == std::numeric_limits<double>::infinity()) {
    return range.open_below ? fmt::format(" above {}", range.least) : fmt::format(" of at least {}", range.least);
  }
  return fmt::format(" {} {} and at most {}", range.open_below ? "above" : "of at least", range.least, range.most);
}

bool inside(double value, Range range) {
  return value <= range.most && (range.open_below ? value > range.least : value >= range.least);
}

using Units = std::vector<std::pair<std::string, double>>;

std::optional<double> read_number(const Config& node, Diagnostics& errors, Range range, const std::string& what, const Units& units) {
  const auto complain = [&] {
    std::string expected = "expected " + what + describe(range);
    if (!units.empty() && !units.front().first.empty()) expected += fmt::format(" with its unit, like `{} {}`", "2", units.front().first);
    errors.add(node.mistake(expected + ", got " + shown(node)));
    return std::nullopt;
  };
  if (!node.is_scalar() || node.is_quoted()) {
    // A quantity with a unit may be quoted; a bare number may not.
    if (!node.is_scalar() || units.empty()) return complain();
  }
  const auto number = split_number(node.scalar());
  if (!number) return complain();
  double factor = 1.0;
  if (units.empty()) {
    if (!number->second.empty()) return complain();
  } else {
    const auto unit = std::find_if(units.begin(), units.end(), [&](const auto& row) { return row.first == number->second; });
    if (unit == units.end()) {
      std::vector<std::string> names;
      for (const auto& [name, unused] : units) {
        if (!name.empty()) names.push_back(name);
      }
      errors.add(node.mistake(number->second.empty() ? fmt::format("`{}` needs a unit{}", node.scalar(), suggestion("", names))
                                                     : fmt::format("unknown unit `{}`{}", number->second, suggestion(number->second, names))));
      return std::nullopt;
    }
    factor = unit->second;
  }
  if (!inside(number->first, range)) return complain();
  return number->first * factor;
}

const Units byte_units{{"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"TiB", 0x1p40}, {"GB", 1e9},
                       {"MB", 1e6},     {"kB", 1e3},     {"KB", 1e3},     {"TB", 1e12},    {"B", 1.0}};
const Units time_units{{"s", 1.0},     {"ms", 1e-3},    {"us", 1e-6},    {"µs", 1e-6},  {"ns", 1e-9}, {"ps", 1e-12},
                       {"min", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
const Units bandwidth_units{{"GB/s", 1e9}, {"TB/s", 1e12}, {"MB/s", 1e6}, {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40}, {"Gbit/s", 1.25e8}, {"B/s", 1.0}};
const Units flops_units{{"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"GFLOP/s", 1e9}, {"TOP/s", 1e12}, {"FLOP/s", 1.0}};
const Units watt_units{{"W", 1.0}, {"kW", 1e3}};
const Units price_units{{"USD/h", 1.0}, {"$/h", 1.0}};
const Units token_units{{"", 1.0}, {"k", 1024.0}, {"K", 1024.0}, {"tokens", 1.0}};
const Units rate_units{{"", 1.0}, {"/s", 1.0}, {"req/s", 1.0}, {"/min", 1.0 / 60.0}};

std::optional<std::int64_t> to_integer(const Config& node, Diagnostics& errors, double value) {
  if (value != std::floor(value) || std::abs(value) > 9e15) {
    errors.add(node.mistake(fmt::format("expected a whole number, got {}", shown(node))));
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

// 9.2e18 picoseconds are 106 days.
constexpr double longest_seconds = 9.2e6;

}  // namespace

template <>
std::optional<double> read_value<double>(const Config& node, Diagnostics& errors, Range range) {
  return read_number(node, errors, range, "a number", {});
}
template <>
std::optional<std::int64_t> read_value<std::int64_t>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a whole number", {});
  return value ? to_integer(node, errors, *value) : std::nullopt;
}
template <>
std::optional<int> read_value<int>(const Config& node, Diagnostics& errors, Range range) {
  range.most = std::min(range.most, 2147483647.0);
  range.least = std::max(range.least, -2147483648.0);
  const auto value = read_value<std::int64_t>(node, errors, range);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}
template <>
std::optional<bool> read_value<bool>(const Config& node, Diagnostics& errors, Range) {
  if (node.is_scalar() && !node.is_quoted()) {
    if (node.scalar() == "true" || node.scalar() == "True") return true;
    if (node.scalar() == "false" || node.scalar() == "False") return false;
  }
  errors.add(node.mistake("expected true or false, got " + shown(node)));
  return std::nullopt;
}
template <>
std::optional<std::string> read_value<std::string>(const Config& node, Diagnostics& errors, Range) {
  if (node.is_scalar()) return node.scalar();
  errors.add(node.mistake("expected text, got " + shown(node)));
  return std::nullopt;
}
template <>
std::optional<Bytes> read_value<Bytes>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a size", byte_units);
  if (!value) return std::nullopt;
  if (std::abs(*value) > 9e18) {
    errors.add(node.mistake("a size beyond 8 EiB"));
    return std::nullopt;
  }
  return Bytes{static_cast<std::int64_t>(std::nearbyint(*value))};
}
template <>
std::optional<Tokens> read_value<Tokens>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a number of tokens", token_units);
  const auto whole = value ? to_integer(node, errors, *value) : std::nullopt;
  return whole ? std::optional(Tokens{*whole}) : std::nullopt;
}
template <>
std::optional<Duration> read_value<Duration>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a time", time_units);
  if (!value) return std::nullopt;
  if (std::abs(*value) > longest_seconds) {
    errors.add(node.mistake("a time beyond 106 days"));
    return std::nullopt;
  }
  return Duration::seconds(*value);
}
template <>
std::optional<BytesPerSecond> read_value<BytesPerSecond>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a bandwidth", bandwidth_units);
  return value ? std::optional(BytesPerSecond{*value}) : std::nullopt;
}
template <>
std::optional<FlopsPerSecond> read_value<FlopsPerSecond>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a compute rate", flops_units);
  return value ? std::optional(FlopsPerSecond{*value}) : std::nullopt;
}
template <>
std::optional<Watts> read_value<Watts>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a power", watt_units);
  return value ? std::optional(Watts{*value}) : std::nullopt;
}
template <>
std::optional<DollarsPerHour> read_value<DollarsPerHour>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a price", price_units);
  return value ? std::optional(DollarsPerHour{*value}) : std::nullopt;
}
template <>
std::optional<RequestsPerSecond> read_value<RequestsPerSecond>(const Config& node, Diagnostics& errors, Range range) {
  const auto value = read_number(node, errors, range, "a request rate", rate_units);
  return value ? std::optional(RequestsPerSecond{*value}) : std::nullopt;
}

MapReader::MapReader(const Config& node, Diagnostics& errors) : node_(node), errors_(errors) {
  if (!node_.is_map() && !node_.is_null()) errors_.add(node_.mistake("expected a map of keys, got " + shown(node_)));
}

bool MapReader::has(std::string_view key) const { return node_.is_map() && node_.find(key).has_value(); }

std::optional<Config> MapReader::child(std::string_view key) {
  known_.emplace_back(key);
  return node_.is_map() ? node_.find(key) : std::nullopt;
}

std::optional<Config> MapReader::require_child(std::string_view key) {
  std::optional<Config> node = child(key);
  if (!node) errors_.add({node_.where(), path_of(node_, key), "is missing"});
  return node;
}

std::string MapReader::choice(std::string_view key, const std::string& fallback, const std::vector<std::string>& choices) {
  const std::optional<std::string> value = maybe<std::string>(key);
  if (!value) return fallback;
  if (std::find(choices.begin(), choices.end(), *value) != choices.end()) return *value;
  mistake(key, "unknown value `" + *value + "`" + suggestion(*value, choices));
  return fallback;
}

void MapReader::mistake(std::string_view key, std::string message) {
  const std::optional<Config> node = node_.is_map() ? node_.find(key) : std::nullopt;
  if (node) {
    errors_.add(node->mistake(std::move(message)));
  } else {
    errors_.add({node_.where(), path_of(node_, key), std::move(message)});
  }
}

void MapReader::done() {
  if (!node_.is_map()) return;
  for (const auto& [key, node] : node_.entries()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      errors_.add(node.mistake("unknown key" + suggestion(key, known_)));
    }
  }
}

std::vector<Config> MapReader::items_of(const Config& node) {
  if (!node.is_sequence()) return {node};
  std::vector<Config> items;
  for (std::size_t i = 0; i < node.size(); ++i) items.push_back(node.at(i));
  return items;
}

}  // namespace ridgeline
