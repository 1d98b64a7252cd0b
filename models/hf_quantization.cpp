#include "models/hf_quantization.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/module_pattern.hpp"
#include "models/precision.hpp"

namespace ridgeline {
namespace {

constexpr Range bits_range{1.0, 16.0};
constexpr Range group_range{-1.0, 65536.0};

/// A format and the modules it is for; no targets = every linear layer.
struct Scheme {
  WeightFormat format;
  std::vector<ModulePattern> targets;
  bool experts_only = false;
};

/// What one quantisation_config says.
struct Quantisation {
  std::string method;
  std::vector<Scheme> schemes;
  std::vector<ModulePattern> ignored;
  bool lm_head = false;
  std::string kv_cache = "auto";
};

std::vector<ModulePattern> patterns(const JsonObject& config, const std::string& key, Diagnostics& errors) {
  std::vector<ModulePattern> list;
  if (key.empty()) return list;
  for (const std::string& entry : config.texts(key, errors).value_or(std::vector<std::string>{})) {
    try {
      list.emplace_back(entry);
    } catch (const std::regex_error&) {
      errors.add(config.mistake(key, "not a regular expression: " + entry));
    }
  }
  return list;
}

std::vector<ModulePattern> ignored_modules(const JsonObject& config, Diagnostics& errors) {
  return patterns(config,
                  config.first_of({"ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules",
                                   "llm_int8_skip_modules"}),
                  errors);
}

/// Scale (and zero point) bits per weight for one group of `group` weights; -1 means one per output channel.
void add_scales(WeightFormat& format, std::int64_t group, double bits_per_scale) {
  if (group > 0) {
    format.bits += bits_per_scale / static_cast<double>(group);
  } else {
    format.bits_per_output = bits_per_scale;
  }
}

DType integer_storage(std::int64_t bits) { return bits <= 2 ? DType::int2 : bits <= 4 ? DType::int4 : DType::int8; }

/// awq, gptq and auto-round: `bits`, `group_size`, and a zero point of as many bits unless symmetric.
Quantisation read_integer_groups(const JsonObject& config, const std::string& method, const ModelSpec& model,
                                 Diagnostics& errors) {
  Quantisation result{.method = method};
  const std::optional<std::int64_t> width = config.integer(config.first_of({"bits", "w_bit"}), errors, bits_range);
  const std::optional<std::int64_t> group =
      config.integer(config.first_of({"group_size", "q_group_size"}), errors, group_range);
  if (!config.has("bits") && !config.has("w_bit"))
    errors.add(config.mistake("bits", "missing: `" + method + "` needs it"));
  if (!config.has("group_size") && !config.has("q_group_size")) {
    errors.add(config.mistake("group_size", "missing: `" + method + "` needs it"));
  }
  if (!width || !group) return result;
  if (*width != 2 && *width != 3 && *width != 4 && *width != 8) {
    errors.add(config.mistake("bits", fmt::format("expected 2, 3, 4 or 8, got {}", *width)));
  }
  const bool zero_point = method == "awq" ? config.boolean("zero_point", errors).value_or(true)
                                          : !config.boolean("sym", errors).value_or(true);
  WeightFormat format{.name = fmt::format("{}_int{}", method, *width),
                      .storage = integer_storage(*width),
                      .math = model.release_dtype,
                      .bits = static_cast<double>(*width)};
  add_scales(format, *group, 16.0 + (zero_point ? static_cast<double>(*width) : 0.0));
  result.schemes.push_back({.format = format});
  result.ignored = ignored_modules(config, errors);
  result.lm_head = config.boolean("lm_head", errors).value_or(false);
  for (const char* key : {"dynamic", "extra_config"}) {
    if (config.is_object(key) && !config.object(key, errors)->keys().empty()) {
      errors.add(
          config.mistake(key, "formats that differ from module to module are not supported for `" + method + "`"));
    }
  }
  return result;
}

Quantisation read_fp8(const JsonObject& config, const std::string& method, const ModelSpec& model,
                      Diagnostics& errors) {
  Quantisation result{.method = method};
  WeightFormat format = weight_format(method == "fp8" ? "fp8" : "fbgemm_fp8", model.release_dtype);
  if (const auto block = config.integers("weight_block_size", errors, at_least_one)) {
    if (block->size() != 2) {
      errors.add(config.mistake("weight_block_size", "expected two numbers"));
    } else {
      format.name = "fp8_block";
      format.bits = 8.0 + 32.0 / static_cast<double>((*block)[0] * (*block)[1]);
      format.bits_per_output = 0.0;
    }
  }
  result.schemes.push_back({.format = format});
  result.ignored = ignored_modules(config, errors);
  return result;
}

/// ModelOpt's names of whole schemes.
std::optional<WeightFormat> modelopt_format(const std::string& algorithm, const ModelSpec& model) {
  if (algorithm == "FP8") return weight_format("modelopt", model.release_dtype);
  if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") return weight_format("ptpc_fp8", model.release_dtype);
  if (algorithm == "FP8_PB_WO" || algorithm == "FP8_BLOCK_SCALES")
    return weight_format("fp8_block128", model.release_dtype);
  if (algorithm == "NVFP4") return weight_format("nvfp4", model.release_dtype);
  if (algorithm == "W4A16_AWQ") return weight_format("awq", model.release_dtype);
  if (algorithm == "W8A8_SQ_PER_CHANNEL") return weight_format("int8", model.release_dtype);
  return std::nullopt;
}

void read_kv_algorithm(const JsonObject& config, Quantisation& result, Diagnostics& errors) {
  const std::optional<std::string> algorithm = config.text("kv_cache_quant_algo", errors);
  if (!algorithm) return;
  if (*algorithm == "FP8") {
    result.kv_cache = "fp8";
  } else if (*algorithm == "NVFP4") {
    result.kv_cache = "nvfp4";
  } else if (*algorithm == "INT8") {
    result.kv_cache = "int8";
  } else if (*algorithm != "none" && *algorithm != "None") {
    errors.add(config.mistake("kv_cache_quant_algo", "unknown KV cache format `" + *algorithm + "`" +
                                                         suggestion(*algorithm, {"FP8", "NVFP4", "INT8"})));
  }
}

Quantisation read_modelopt(const JsonObject& config, const ModelSpec& model, Diagnostics& errors) {
  Quantisation result{.method = "modelopt"};
  const std::optional<std::string> algorithm = config.text("quant_algo", errors);
  read_kv_algorithm(config, result, errors);
  result.ignored = ignored_modules(config, errors);
  if (!algorithm) {
    if (result.kv_cache == "auto") errors.add(config.mistake("quant_algo", "missing: `modelopt` needs it"));
    return result;
  }
  const std::optional<WeightFormat> format = modelopt_format(*algorithm, model);
  if (!format) {
    errors.add(config.mistake("quant_algo", "unsupported `" + *algorithm + "`" +
                                                suggestion(*algorithm, {"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO",
                                                                        "NVFP4", "W4A16_AWQ", "W8A8_SQ_PER_CHANNEL"})));
    return result;
  }
  WeightFormat own = *format;
  if (*algorithm == "NVFP4") {
    const std::int64_t group = config.integer("group_size", errors, at_least_one).value_or(16);
    own.bits = 4.0 + 8.0 / static_cast<double>(group);
    result.method = "nvfp4";
  }
  result.schemes.push_back({.format = own});
  return result;
}

/// One `config_groups` entry of compressed-tensors: weights and input activations.
std::optional<WeightFormat> compressed_format(const JsonObject& group, const ModelSpec& model, Diagnostics& errors) {
  const std::optional<JsonObject> weights = group.object("weights", errors);
  if (!weights) {
    errors.add(group.mistake("weights", "missing: a quantised group needs it"));
    return std::nullopt;
  }
  const std::int64_t width = weights->integer("num_bits", errors, bits_range).value_or(0);
  const std::string type = weights->text("type", errors).value_or("int");
  const std::string strategy = weights->text("strategy", errors).value_or("tensor");
  const bool symmetric = weights->boolean("symmetric", errors).value_or(true);
  const std::int64_t group_size = weights->integer("group_size", errors, group_range).value_or(-1);
  const bool floating = type == "float";
  const bool known =
      (floating && (width == 8 || width == 4)) || (!floating && (width == 2 || width == 4 || width == 8));
  if (!known) {
    errors.add(weights->mistake("num_bits", fmt::format("unsupported: {} bits of type {}", width, type)));
    return std::nullopt;
  }
  const std::optional<JsonObject> inputs = group.object("input_activations", errors);
  WeightFormat format{.name = fmt::format("{}{}", floating ? "fp" : "int", width),
                      .storage = floating ? (width == 8 ? DType::fp8 : DType::fp4) : integer_storage(width),
                      .bits = static_cast<double>(width)};
  format.math = inputs ? format.storage : model.release_dtype;
  if (inputs && inputs->integer("num_bits", errors, bits_range).value_or(width) == 8 && width == 4) {
    format.math = floating ? DType::fp8 : DType::int8;  // W4A8: widened to the activations' type
  }
  format.quantises_input = inputs.has_value();
  if (strategy == "group" || strategy == "tensor_group") {
    const double scale = floating && width == 4 ? 8.0 : 16.0;  // NVFP4 and MXFP4 have 8-bit scales
    add_scales(format, group_size, scale + (symmetric ? 0.0 : static_cast<double>(width)));
  } else if (strategy == "channel") {
    format.bits_per_output = 32.0;
  } else if (strategy == "block") {
    const auto block = weights->integers("block_structure", errors, at_least_one);
    const double area = block && block->size() == 2 ? static_cast<double>((*block)[0] * (*block)[1]) : 16384.0;
    format.bits += 32.0 / area;
  } else if (strategy != "tensor") {
    errors.add(weights->mistake(
        "strategy",
        "unknown `" + strategy + "`" + suggestion(strategy, {"tensor", "channel", "group", "tensor_group", "block"})));
  }
  return format;
}

Quantisation read_compressed_tensors(const JsonObject& config, const ModelSpec& model, Diagnostics& errors) {
  Quantisation result{.method = "compressed-tensors"};
  result.ignored = ignored_modules(config, errors);
  if (const auto sparsity = config.object("sparsity_config", errors)) {
    const std::string format = sparsity->text("format", errors).value_or("dense");
    if (format != "dense")
      errors.add(sparsity->mistake("format", "sparse weights (`" + format + "`) are not supported"));
  }
  if (const auto kv = config.object("kv_cache_scheme", errors)) {
    const std::int64_t width = kv->integer("num_bits", errors, bits_range).value_or(8);
    const bool floating = kv->text("type", errors).value_or("float") == "float";
    if (width == 8) {
      result.kv_cache = floating ? "fp8" : "int8";
    } else {
      errors.add(kv->mistake("num_bits", fmt::format("expected 8, got {}", width)));
    }
  }
  const std::vector<JsonObject> groups = config.objects("config_groups");
  if (groups.empty())
    errors.add(config.mistake("config_groups", "missing: `compressed-tensors` needs at least one group"));
  for (const JsonObject& group : groups) {
    const std::optional<WeightFormat> format = compressed_format(group, model, errors);
    if (!format) continue;
    Scheme scheme{.format = *format};
    for (const std::string& target : group.texts("targets", errors).value_or(std::vector<std::string>{"Linear"})) {
      if (target == "Linear") {
        scheme.targets.clear();
        break;
      }
      scheme.targets.emplace_back(target);
    }
    result.schemes.push_back(std::move(scheme));
  }
  return result;
}

Quantisation read_bitsandbytes(const JsonObject& config, const ModelSpec& model, Diagnostics& errors) {
  Quantisation result{.method = "bitsandbytes"};
  const bool four =
      config.boolean("load_in_4bit", errors).value_or(false) || config.boolean("_load_in_4bit", errors).value_or(false);
  const bool eight =
      config.boolean("load_in_8bit", errors).value_or(false) || config.boolean("_load_in_8bit", errors).value_or(false);
  if (four == eight) {
    errors.add(config.mistake("load_in_4bit", "expected one of load_in_4bit and load_in_8bit to be true"));
    return result;
  }
  WeightFormat format = weight_format(four ? "bitsandbytes" : "bitsandbytes_int8", model.release_dtype);
  // Double quantisation stores the fp32 absmax of 64 weights in 8 bits, with one fp32 per 256 of them (QLoRA section
  // 3).
  if (four && config.boolean("bnb_4bit_use_double_quant", errors).value_or(false)) {
    format.bits = 4.0 + 8.0 / 64.0 + 32.0 / (64.0 * 256.0);
  }
  result.schemes.push_back({.format = format});
  result.ignored = ignored_modules(config, errors);
  return result;
}

/// The module names whose weights make up one LinearKind of layer `index`.
std::vector<std::string> module_names(std::size_t index, LinearKind kind) {
  const std::string layer = fmt::format("model.layers.{}.", index);
  switch (kind) {
    case LinearKind::qkv: return {layer + "self_attn.q_proj", layer + "self_attn.k_proj", layer + "self_attn.v_proj"};
    case LinearKind::o: return {layer + "self_attn.o_proj"};
    case LinearKind::gate_up: return {layer + "mlp.gate_proj", layer + "mlp.up_proj"};
    case LinearKind::down: return {layer + "mlp.down_proj"};
    case LinearKind::experts: return {layer + "mlp.experts.0.gate_proj", layer + "mlp.experts.0.down_proj"};
    case LinearKind::shared_experts: return {layer + "mlp.shared_expert.gate_proj"};
  }
  return {};
}

/// Other spellings of the same module: an entry that names any of them names the module.
std::vector<std::string> spellings(const std::string& module) {
  static const std::vector<std::pair<std::string, std::string>> other{{"q_proj", "qkv_proj"},
                                                                      {"k_proj", "qkv_proj"},
                                                                      {"v_proj", "qkv_proj"},
                                                                      {"mlp.gate_proj", "mlp.gate_up_proj"},
                                                                      {"mlp.up_proj", "mlp.gate_up_proj"},
                                                                      {"mlp.experts", "block_sparse_moe.experts"},
                                                                      {"mlp.experts", "feed_forward.experts"},
                                                                      {"shared_expert", "shared_experts"}};
  std::vector<std::string> names{module};
  for (const auto& [from, to] : other) {
    const std::size_t at = module.find(from);
    if (at == std::string::npos) continue;
    std::string name = module;
    names.push_back(name.replace(at, from.size(), to));
  }
  // compressed-tensors and ModelOpt often write the path of a multimodal checkpoint.
  const std::size_t count = names.size();
  for (std::size_t i = 0; i < count; ++i) names.push_back("language_model." + names[i]);
  return names;
}

bool named(const std::vector<ModulePattern>& list, const std::string& module) {
  if (list.empty()) return false;
  for (const std::string& name : spellings(module)) {
    if (any_match(list, name)) return true;
  }
  return false;
}

/// Index of the format of one module: 0 = kept in 16 bits.
std::uint8_t format_of(const Quantisation& quantisation, const std::string& module, LinearKind kind) {
  if (named(quantisation.ignored, module)) return 0;
  for (std::size_t i = 0; i < quantisation.schemes.size(); ++i) {
    const Scheme& scheme = quantisation.schemes[i];
    if (scheme.experts_only && kind != LinearKind::experts) continue;
    if (scheme.targets.empty() || named(scheme.targets, module)) return static_cast<std::uint8_t>(i + 1);
  }
  return 0;
}

void apply(const JsonObject& config, const Quantisation& quantisation, ModelSpec& model, Diagnostics& errors) {
  model.quantization = quantisation.method;
  model.kv_cache_dtype = quantisation.kv_cache;
  for (const Scheme& scheme : quantisation.schemes) model.formats.push_back(scheme.format);
  if (quantisation.lm_head && !quantisation.schemes.empty()) model.lm_head_format = 1;
  for (std::size_t i = 0; i < quantisation.schemes.size(); ++i) {
    if (!quantisation.schemes[i].targets.empty() && named(quantisation.schemes[i].targets, "lm_head")) {
      model.lm_head_format = static_cast<std::uint8_t>(i + 1);
    }
  }
  for (std::size_t index = 0; index < model.layers.size(); ++index) {
    for (std::size_t k = 0; k < linear_kinds; ++k) {
      const LinearKind kind = static_cast<LinearKind>(k);
      const std::vector<std::string> modules = module_names(index, kind);
      model.layers[index].format[k] = format_of(quantisation, modules.front(), kind);
      for (const std::string& module : modules) {
        if (format_of(quantisation, module, kind) == model.layers[index].format[k]) continue;
        errors.add(
            config.mistake("", fmt::format("`{}` and `{}` are fused by the engine but stored in different formats",
                                           modules.front(), module)));
      }
    }
  }
}

std::optional<Quantisation> read_method(const JsonObject& config, const std::string& key, const std::string& method,
                                        const ModelSpec& model, Diagnostics& errors) {
  if (method == "awq" || method == "awq_marlin") return read_integer_groups(config, "awq", model, errors);
  if (method == "gptq" || method == "gptq_marlin") return read_integer_groups(config, "gptq", model, errors);
  if (method == "auto-round") return read_integer_groups(config, "auto-round", model, errors);
  if (method == "fp8" || method == "fbgemm_fp8") return read_fp8(config, method, model, errors);
  if (method == "compressed-tensors") return read_compressed_tensors(config, model, errors);
  if (method == "modelopt" || method == "modelopt_fp4") return read_modelopt(config, model, errors);
  if (method == "bitsandbytes") return read_bitsandbytes(config, model, errors);
  if (method == "mxfp4") {
    Quantisation result{.method = "mxfp4"};
    result.schemes.push_back(
        {.format = weight_format("mxfp4", model.release_dtype), .experts_only = model.moe.has_value()});
    result.ignored = ignored_modules(config, errors);
    return result;
  }
  errors.add(config.mistake(key, "unsupported quantization method `" + method + "`" +
                                     suggestion(method, {"awq", "gptq", "fp8", "fbgemm_fp8", "compressed-tensors",
                                                         "modelopt", "mxfp4", "bitsandbytes", "auto-round"})));
  return std::nullopt;
}

}  // namespace

void read_quantization(const JsonObject& config, ModelSpec& model, Diagnostics& errors) {
  const std::string key = config.first_of({"quantization_config", "compression_config"});
  if (key.empty()) return;
  const std::optional<JsonObject> section = config.object(key, errors);
  if (!section) return;
  const std::optional<std::string> method = section->text("quant_method", errors);
  if (!section->has("quant_method")) {
    errors.add(section->mistake("quant_method", "missing: it decides how the weights are stored"));
  }
  if (!method) return;
  const std::optional<Quantisation> quantisation = read_method(*section, "quant_method", *method, model, errors);
  if (quantisation) apply(*section, *quantisation, model, errors);
}

void read_modelopt_file(const JsonObject& file, ModelSpec& model, Diagnostics& errors) {
  const std::optional<JsonObject> section = file.object("quantization", errors);
  if (!section) {
    errors.add(file.mistake("quantization", "missing: an hf_quant_config.json needs it"));
    return;
  }
  apply(*section, read_modelopt(*section, model, errors), model, errors);
}

}  // namespace ridgeline
