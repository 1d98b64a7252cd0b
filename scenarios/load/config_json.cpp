#include "scenarios/load/config_json.hpp"

#include <charconv>
#include <cmath>

namespace ridgeline {

namespace {

template <class Number>
bool parse_all(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

nlohmann::ordered_json scalar_to_json(const Config& node) {
  const std::string& text = node.scalar();
  if (node.is_quoted()) return text;
  if (text == "true" || text == "false") return text == "true";
  if (std::int64_t integer = 0; parse_all(text, integer)) return integer;
  if (double number = 0; parse_all(text, number) && std::isfinite(number)) return number;
  return text;
}

}  // namespace

nlohmann::ordered_json to_json(const Config& node) {
  switch (node.kind()) {
    case Config::Kind::null: return nullptr;
    case Config::Kind::scalar: return scalar_to_json(node);
    case Config::Kind::sequence: {
      auto list = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < node.size(); ++i) list.push_back(to_json(node.at(i)));
      return list;
    }
    case Config::Kind::map: {
      auto map = nlohmann::ordered_json::object();
      for (const auto& [key, child] : node.entries()) map[key] = to_json(child);
      return map;
    }
  }
  throw InternalError("a Config node of an unknown kind");
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Config to_config(const nlohmann::ordered_json& json, const std::string& source) { return Config::parse(dump(json), source); }

}  // namespace ridgeline
