#include "models/json_document.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ridgeline {
namespace {

using Json = nlohmann::json;

/// Deeper files are not configurations, and would exhaust the stack.
constexpr int deepest_nesting = 64;

SourceLocation locate(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return {file, static_cast<int>(line), static_cast<int>(column) + 1};
}

/// Walks text that is known to be valid JSON and notes where each key stands.
class KeyPlaces {
 public:
  KeyPlaces(std::string_view text, const std::string& file) : text_(text), file_(file) {
    skip_space();
    value("");
  }

  std::map<std::string, std::size_t> offsets;

 private:
  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }
  /// The raw characters between the quotes.
  std::string string() {
    const std::size_t begin = ++position_;
    while (peek() != '"') position_ += peek() == '\\' ? 2u : 1u;
    return std::string(text_.substr(begin, position_++ - begin));
  }
  void value(const std::string& path) {
    if (peek() == '{') {
      object(path);
    } else if (peek() == '[') {
      array(path);
    } else if (peek() == '"') {
      string();
    } else {
      while (position_ < text_.size() && std::string_view(",]} \t\r\n").find(peek()) == std::string_view::npos)
        ++position_;
    }
    skip_space();
  }
  void object(const std::string& path) {
    ++position_;
    skip_space();
    while (peek() != '}') {
      const std::size_t offset = position_;
      const std::string name = string();
      const std::string key = path.empty() ? name : path + "." + name;
      if (!offsets.emplace(key, offset).second) {
        throw ConfigError(Diagnostic{locate(text_, offset, file_), key, "duplicate key"});
      }
      skip_space();
      ++position_;  // colon
      skip_space();
      value(key);
      separator();
    }
    ++position_;
  }
  void array(const std::string& path) {
    ++position_;
    skip_space();
    for (int index = 0; peek() != ']'; ++index) {
      value(fmt::format("{}[{}]", path, index));
      separator();
    }
    ++position_;
  }
  void separator() {
    if (peek() == ',') ++position_;
    skip_space();
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
};

std::string kind_of(const Json& value) {
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (value.is_number()) return value.dump();
  if (value.is_string()) return fmt::format("string \"{}\"", value.get<std::string>().substr(0, 40));
  return value.type_name();
}

int nesting(const Json& value, int depth = 0) {
  if (depth > deepest_nesting || !value.is_structured()) return depth;
  int deepest = depth;
  for (const Json& item : value) deepest = std::max(deepest, nesting(item, depth + 1));
  return deepest;
}

/// The message of nlohmann's parse_error without its number and place, which are reported separately.
std::string syntax_message(const std::string& what) {
  const std::size_t reason = what.find(": ");
  return "not JSON: " + (reason == std::string::npos ? what : what.substr(reason + 2));
}

}  // namespace

struct JsonObject::Document {
  std::string file;
  std::string text;
  Json root;
  std::map<std::string, std::size_t> offsets;
};

namespace {
const Json& as_json(const void* value) { return *static_cast<const Json*>(value); }
const Json* member(const void* object, std::string_view key) {
  const Json& map = as_json(object);
  const auto found = map.find(std::string(key));
  return found == map.end() || found->is_null() ? nullptr : &*found;
}
}  // namespace

JsonObject::JsonObject(std::shared_ptr<const Document> document, const void* value, std::string path)
    : document_(std::move(document)), value_(value), path_(std::move(path)) {}

JsonObject JsonObject::parse(std::string_view text, const std::string& file) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  auto document = std::make_shared<Document>();
  document->file = file;
  document->text = std::string(text);
  try {
    document->root = Json::parse(document->text);
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    throw ConfigError(Diagnostic{locate(text, offset, file), {}, syntax_message(error.what())});
  } catch (const Json::exception& error) {  // a number beyond the range of double
    throw ConfigError(Diagnostic{{file, 0, 0}, {}, syntax_message(error.what())});
  }
  if (!document->root.is_object()) {
    throw ConfigError(
        Diagnostic{{file, 1, 1}, {}, fmt::format("expected an object at the top, got {}", document->root.type_name())});
  }
  if (nesting(document->root) > deepest_nesting) {
    throw ConfigError(Diagnostic{{file, 1, 1}, {}, fmt::format("nested deeper than {} levels", deepest_nesting)});
  }
  document->offsets = KeyPlaces(document->text, file).offsets;
  const void* root = &document->root;
  return JsonObject(std::move(document), root, "");
}

bool JsonObject::has(std::string_view key) const { return member(value_, key) != nullptr; }

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : as_json(value_).items()) names.push_back(name);
  return names;
}

std::string JsonObject::first_of(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (has(key)) return key;
  }
  return {};
}

std::optional<std::int64_t> JsonObject::integer(std::string_view key, Diagnostics& errors, Range range) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  const bool whole = value->is_number() && std::trunc(value->get<double>()) == value->get<double>();
  if (!whole) {
    errors.add(mistake(key, "expected an integer, got " + kind_of(*value)));
    return std::nullopt;
  }
  return number(key, errors, range) ? std::optional(static_cast<std::int64_t>(value->get<double>())) : std::nullopt;
}

std::optional<double> JsonObject::number(std::string_view key, Diagnostics& errors, Range range) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    errors.add(mistake(key, "expected a number, got " + kind_of(*value)));
    return std::nullopt;
  }
  const double x = value->get<double>();
  if (x < range.least || (range.open_below && x == range.least)) {
    errors.add(mistake(key, fmt::format("expected {} {}, got {}", range.open_below ? "more than" : "at least",
                                        range.least, kind_of(*value))));
    return std::nullopt;
  }
  if (x > range.most) {
    errors.add(mistake(key, fmt::format("expected at most {}, got {}", range.most, kind_of(*value))));
    return std::nullopt;
  }
  return x;
}

std::optional<bool> JsonObject::boolean(std::string_view key, Diagnostics& errors) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    errors.add(mistake(key, "expected true or false, got " + kind_of(*value)));
    return std::nullopt;
  }
  return value->get<bool>();
}

std::optional<std::string> JsonObject::text(std::string_view key, Diagnostics& errors) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    errors.add(mistake(key, "expected a string, got " + kind_of(*value)));
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<JsonObject> JsonObject::object(std::string_view key, Diagnostics& errors) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    errors.add(mistake(key, "expected an object, got " + kind_of(*value)));
    return std::nullopt;
  }
  return JsonObject(document_, value, path_of(key));
}

std::optional<std::vector<std::string>> JsonObject::texts(std::string_view key, Diagnostics& errors) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  const bool valid =
      value->is_array() && std::all_of(value->begin(), value->end(), [](const Json& x) { return x.is_string(); });
  if (!valid) {
    errors.add(mistake(key, "expected a list of strings"));
    return std::nullopt;
  }
  return value->get<std::vector<std::string>>();
}

std::optional<std::vector<std::int64_t>> JsonObject::integers(std::string_view key, Diagnostics& errors,
                                                              Range range) const {
  const Json* value = member(value_, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    errors.add(mistake(key, "expected a list of integers, got " + kind_of(*value)));
    return std::nullopt;
  }
  std::vector<std::int64_t> list;
  for (const Json& item : *value) {
    const bool whole = item.is_number() && std::trunc(item.get<double>()) == item.get<double>();
    if (!whole || item.get<double>() < range.least || item.get<double>() > range.most) {
      errors.add(mistake(key, "expected a list of integers, got " + kind_of(item) + " in it"));
      return std::nullopt;
    }
    list.push_back(static_cast<std::int64_t>(item.get<double>()));
  }
  return list;
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) const {
  std::vector<JsonObject> list;
  const Json* value = member(value_, key);
  if (value == nullptr) return list;
  for (const auto& [name, item] : value->items()) {
    if (!item.is_object()) continue;
    const std::string path = value->is_array() ? fmt::format("{}[{}]", path_of(key), name) : path_of(key) + "." + name;
    list.push_back(JsonObject(document_, &item, path));
  }
  return list;
}

bool JsonObject::is_array(std::string_view key) const { return has(key) && member(value_, key)->is_array(); }
bool JsonObject::is_object(std::string_view key) const { return has(key) && member(value_, key)->is_object(); }
bool JsonObject::is_text(std::string_view key) const { return has(key) && member(value_, key)->is_string(); }

std::string JsonObject::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const std::string& JsonObject::file() const { return document_->file; }

Diagnostic JsonObject::mistake(std::string_view key, std::string message) const {
  const std::string path = path_of(key);
  const auto own = document_->offsets.find(path);
  const auto place = own != document_->offsets.end() ? own : document_->offsets.find(path_);
  const SourceLocation where = place != document_->offsets.end()
                                   ? locate(document_->text, place->second, document_->file)
                                   : SourceLocation{document_->file, 1, 1};
  return {where, path, std::move(message)};
}

}  // namespace ridgeline
