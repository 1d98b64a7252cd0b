#include "models/hf_rope.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace ridgeline {
namespace {

constexpr Range length_range{1.0, 1e9};
constexpr Range factor_range{1.0, 1e6};

/// `rope_scaling`, or its newer name `rope_parameters`, which may hold one object per kind of layer.
std::optional<JsonObject> rope_object(const JsonObject& config, Diagnostics& errors) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (config.has(key) && !config.is_object(key) && !config.is_text(key)) {
      errors.add(config.mistake(key, "expected an object"));
      return std::nullopt;
    }
    if (!config.is_object(key)) continue;
    const std::optional<JsonObject> rope = config.object(key, errors);
    if (rope->is_object("full_attention")) return rope->object("full_attention", errors);
    return rope;
  }
  return std::nullopt;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

std::int64_t context_length(const JsonObject& config, const std::string& model_type, std::int64_t declared,
                            Diagnostics& errors, std::vector<std::string>& notes) {
  const std::optional<JsonObject> rope = rope_object(config, errors);
  if (!rope) return declared;
  const std::string type_key = rope->first_of({"rope_type", "type"});
  const std::string type = type_key.empty() ? "default" : rope->text(type_key, errors).value_or("default");
  const double factor = rope->number("factor", errors, factor_range).value_or(1.0);
  std::optional<std::int64_t> original = rope->integer("original_max_position_embeddings", errors, length_range);
  if (!original) original = config.integer("original_max_position_embeddings", errors, length_range);
  const auto scaled = [factor](std::int64_t length) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(length) * factor));
  };

  if (contains(type, "yarn")) {
    if (original) return scaled(*original);
    notes.push_back(
        fmt::format("rope `{}` without original_max_position_embeddings: the declared {} tokens are taken as they are",
                    type, declared));
    return declared;
  }
  if (type == "linear" || type == "dynamic" || type == "ntk") {
    if (contains(model_type, "gemma3")) return declared;
    return scaled(original.value_or(declared));
  }
  if (type == "default" || type == "llama3" || type == "longrope" || type == "su" || type == "mrope" ||
      type == "proportional") {
    return declared;
  }
  errors.add(rope->mistake(
      type_key, "unknown rope type `" + type + "`" +
                    suggestion(type, {"default", "linear", "dynamic", "yarn", "llama3", "longrope", "su", "mrope"})));
  return declared;
}

}  // namespace ridgeline
