#include "workloads/traces/json_record.hpp"

#include <nlohmann/json.hpp>

namespace ridgeline {

// nlohmann's event interface: no document is built, and floats come with their text.
struct JsonRecord::Handler {
  using Json = nlohmann::json;

  explicit Handler(JsonRecord& target) : record(target) {}

  JsonRecord& record;
  int depth = 0;
  std::string error;

  [[nodiscard]] JsonField& current() { return record.fields_[record.size_ - 1]; }
  bool scalar(JsonField::Kind kind, std::string_view text) {
    if (depth == 0) return refuse();
    if (depth == 1) {
      current().kind = kind;
      current().text = text;
    } else {
      current().kind = JsonField::Kind::other;
    }
    return true;
  }
  bool refuse() {
    error = "expected a JSON object, like {\"timestamp\": 0, …}";
    return false;
  }

  bool null() { return scalar(JsonField::Kind::null, {}); }
  bool boolean(bool) { return scalar(JsonField::Kind::boolean, {}); }
  bool number_integer(Json::number_integer_t value) { return scalar(JsonField::Kind::number, std::to_string(value)); }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (depth == 2 && current().kind == JsonField::Kind::numbers) {
      current().numbers.push_back(value);
      return true;
    }
    return scalar(JsonField::Kind::number, std::to_string(value));
  }
  bool number_float(Json::number_float_t, const std::string& text) { return scalar(JsonField::Kind::number, text); }
  bool string(std::string& text) { return scalar(JsonField::Kind::text, text); }
  bool binary(Json::binary_t&) { return true; }
  bool start_object(std::size_t) {
    if (depth++ > 0) current().kind = JsonField::Kind::other;
    return true;
  }
  bool end_object() { return --depth, true; }
  bool start_array(std::size_t) {
    if (depth == 0) return refuse();
    current().kind = depth == 1 ? JsonField::Kind::numbers : JsonField::Kind::other;
    ++depth;
    return true;
  }
  bool end_array() { return --depth, true; }
  bool key(std::string& name) {
    if (depth != 1) return true;
    if (record.size_ == record.fields_.size()) record.fields_.emplace_back();
    JsonField& field = record.fields_[record.size_++];
    field.name = name;
    field.kind = JsonField::Kind::null;
    field.text.clear();
    field.numbers.clear();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    error = "not valid JSON at column " + std::to_string(position);
    return false;
  }
};

JsonRecord::JsonRecord() = default;
JsonRecord::~JsonRecord() = default;

std::string JsonRecord::parse(std::string_view line) {
  size_ = 0;
  Handler handler(*this);
  if (nlohmann::json::sax_parse(line.begin(), line.end(), &handler)) return {};
  return handler.error.empty() ? "not valid JSON" : handler.error;
}

}  // namespace ridgeline
