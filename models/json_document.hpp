// Strict JSON with places, for files that other programs wrote: every mistake names file, line, column and key.
//
// nlohmann-json is caged in json_document.cpp. A byte-order mark and CRLF are accepted; duplicate keys, trailing commas
// and NaN are not. Mistakes gather in Diagnostics.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/config.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {

/// An object of a parsed document; a cheap handle. Absent and null are the same: not given.
class JsonObject {
 public:
  /// Throws ConfigError: syntax with line and column, duplicate key, or anything but an object at the top.
  static JsonObject parse(std::string_view text, const std::string& file);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;
  /// First of `keys` that is given, or "".
  [[nodiscard]] std::string first_of(const std::vector<std::string>& keys) const;

  /// Wrong types and values out of range become mistakes, and yield nullopt. 32.0 passes for an integer, "32" does not.
  std::optional<std::int64_t> integer(std::string_view key, Diagnostics& errors, Range range = {}) const;
  std::optional<double> number(std::string_view key, Diagnostics& errors, Range range = {}) const;
  std::optional<bool> boolean(std::string_view key, Diagnostics& errors) const;
  std::optional<std::string> text(std::string_view key, Diagnostics& errors) const;
  std::optional<JsonObject> object(std::string_view key, Diagnostics& errors) const;
  std::optional<std::vector<std::string>> texts(std::string_view key, Diagnostics& errors) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, Diagnostics& errors, Range range = {}) const;
  /// Objects in an array or the values of an object.
  [[nodiscard]] std::vector<JsonObject> objects(std::string_view key) const;
  [[nodiscard]] bool is_array(std::string_view key) const;
  [[nodiscard]] bool is_object(std::string_view key) const;
  [[nodiscard]] bool is_text(std::string_view key) const;

  /// A mistake at `key`, or at the object when the key is absent.
  [[nodiscard]] Diagnostic mistake(std::string_view key, std::string message) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const std::string& file() const;

 private:
  struct Document;
  JsonObject(std::shared_ptr<const Document> document, const void* value, std::string path);

  std::shared_ptr<const Document> document_;
  const void* value_ = nullptr;  ///< into the document
  std::string path_;
};

}  // namespace ridgeline
