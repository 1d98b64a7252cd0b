// YAML (hence JSON) input with places: every value remembers file, line, column and dotted key.
//
// yaml-cpp is caged in config.cpp. Reading is strict and gathers every mistake: make a `Diagnostics`, read everything,
// then `throw_if_any()`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// Mistakes gathered while reading.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  /// Throws one ConfigError with everything gathered.
  void throw_if_any() const {
    if (!list_.empty()) throw ConfigError(list_);
  }

 private:
  std::vector<Diagnostic> list_;
};

/// A node of a parsed document: a cheap handle, immutable but for `set`.
class Config {
 public:
  enum class Kind { null, scalar, sequence, map };

  Config();  ///< null node without a place

  /// Throws ConfigError: syntax error with its place, duplicate key, more than 200,000 nodes after alias expansion.
  static Config parse(std::string_view text, const std::string& file);
  /// As parse; also: missing file, a directory, unreadable, larger than 64 MiB.
  static Config load(const std::filesystem::path& file);
  static Config make_scalar(std::string text, SourceLocation where, std::string path);
  static Config make_map(SourceLocation where, std::string path);

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind() == Kind::scalar; }
  [[nodiscard]] bool is_sequence() const { return kind() == Kind::sequence; }
  [[nodiscard]] bool is_map() const { return kind() == Kind::map; }
  [[nodiscard]] bool is_quoted() const;  ///< a scalar written in quotes: never a number
  [[nodiscard]] const std::string& scalar() const;
  [[nodiscard]] const SourceLocation& where() const;
  [[nodiscard]] const std::string& path() const;

  [[nodiscard]] std::size_t size() const;                ///< items of a sequence or entries of a map
  [[nodiscard]] Config at(std::size_t index) const;      ///< item of a sequence
  [[nodiscard]] std::vector<std::pair<std::string, Config>> entries() const;  ///< of a map, in file order
  [[nodiscard]] std::optional<Config> find(std::string_view key) const;       ///< of a map
  [[nodiscard]] Diagnostic mistake(std::string message) const { return {where(), path(), std::move(message)}; }

  /// A copy with the node at dotted `path` ("fleet[0].engine.block_size") replaced or added, intermediate maps made as needed.
  /// Throws ConfigError when the path runs through a scalar or past the end of a list.
  [[nodiscard]] Config with(const std::string& path, const Config& value) const;
  /// A copy with `overlay` merged in: maps merge key by key, everything else replaces.
  [[nodiscard]] Config merged(const Config& overlay) const;
  /// Rendered as YAML (block style), readable by `parse`.
  [[nodiscard]] std::string to_yaml() const;

  struct Node;

 private:
  explicit Config(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
  friend struct ConfigBuilder;
};

/// Allowed range of a number, bounds included unless `open_below` excludes the lower one.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_below = false;
};
inline constexpr Range positive{0.0, std::numeric_limits<double>::infinity(), true};
inline constexpr Range non_negative{0.0};
inline constexpr Range at_least_one{1.0};
inline constexpr Range fraction{0.0, 1.0};
inline constexpr Range positive_fraction{0.0, 1.0, true};

/// Reads one value; a mistake is added to `errors` and nullopt returned.
/// Specialised for bool, int64_t, int, double, std::string, and the quantities Bytes, Tokens, Duration, BytesPerSecond,
/// FlopsPerSecond, Watts, DollarsPerHour, RequestsPerSecond. Dimensional quantities need their unit in the value
/// ("80 GiB", "3.35 TB/s", "2 s", "312 TFLOP/s", "700 W", "2.99 USD/h"); Tokens and RequestsPerSecond are bare numbers ("k"
/// suffix allowed for Tokens: "32k" = 32768). NaN and infinities are mistakes.
template <class T>
std::optional<T> read_value(const Config& node, Diagnostics& errors, Range range = {});

/// Reads a map key by key and then complains of keys nobody asked for.
class MapReader {
 public:
  /// A node that is not a map is a mistake; reading then yields defaults.
  MapReader(const Config& node, Diagnostics& errors);

  [[nodiscard]] bool has(std::string_view key) const;
  /// The raw node, marked as known; nullopt when absent.
  std::optional<Config> child(std::string_view key);
  /// As `child`; absent is a mistake.
  std::optional<Config> require_child(std::string_view key);

  template <class T>
  std::optional<T> maybe(std::string_view key, Range range = {}) {
    const std::optional<Config> node = child(key);
    if (!node || node->is_null()) return std::nullopt;
    return read_value<T>(*node, errors_, range);
  }
  template <class T>
  T get(std::string_view key, T fallback, Range range = {}) {
    return maybe<T>(key, range).value_or(std::move(fallback));
  }
  template <class T>
  T require(std::string_view key, Range range = {}) {
    const std::optional<Config> node = require_child(key);
    if (!node) return T{};
    return read_value<T>(*node, errors_, range).value_or(T{});
  }
  /// A sequence of values; a single scalar counts as a sequence of one.
  template <class T>
  std::vector<T> list(std::string_view key, Range range = {}) {
    std::vector<T> values;
    const std::optional<Config> node = child(key);
    if (!node || node->is_null()) return values;
    for (const Config& item : items_of(*node)) {
      if (std::optional<T> value = read_value<T>(item, errors_, range)) values.push_back(std::move(*value));
    }
    return values;
  }
  /// One of `choices`; anything else is a mistake with near matches.
  std::string choice(std::string_view key, const std::string& fallback, const std::vector<std::string>& choices);

  /// Adds a mistake at `key` (or at the map itself when the key is absent).
  void mistake(std::string_view key, std::string message);
  /// Unknown keys become mistakes, with near matches. Call last.
  void done();
  [[nodiscard]] Diagnostics& errors() { return errors_; }
  [[nodiscard]] const Config& node() const { return node_; }

 private:
  static std::vector<Config> items_of(const Config& node);

  Config node_;
  Diagnostics& errors_;
  std::vector<std::string> known_;
};

}  // namespace ridgeline
