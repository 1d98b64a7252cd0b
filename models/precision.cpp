#include "models/precision.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/error.hpp"

namespace ridgeline {
namespace {

/// How a quantisation method stores a linear weight. `weight_only`: the GEMM dequantises and multiplies in 16 bits.
struct Method {
  const char* name;
  DType storage;
  bool weight_only;
  double bits;
  double bits_per_output;
  bool experts_only;  ///< in mixture-of-experts models only the routed experts are stored so
};

// Bits per weight, scales included:
//   fp8 per tensor 8; per output channel (fp32 scale) 8 + 32/k; 128x128 blocks (DeepSeek-V3) 8 + 32/16384
//   AWQ g128: 4 + (fp16 scale + 4-bit zero)/128 = 4.156 (0.520 B); GPTQ g128 symmetric: 4 + 16/128 = 4.125 (0.516 B)
//   NVFP4: 4 + an fp8 scale per 16 = 4.5 (0.5625 B); MXFP4: 4 + an 8-bit exponent per 32 = 4.25 (OCP MX 1.0)
//   bitsandbytes NF4: 4 + an fp32 absmax per 64 = 4.5 (QLoRA, arXiv 2305.14314)
constexpr Method methods[] = {
    {"fp8", DType::fp8, false, 8.0, 0.0, false},
    {"fp8_block128", DType::fp8, false, 8.0 + 32.0 / 16384.0, 0.0, false},
    {"fbgemm_fp8", DType::fp8, false, 8.0, 32.0, false},
    {"ptpc_fp8", DType::fp8, false, 8.0, 32.0, false},
    {"modelopt", DType::fp8, false, 8.0, 0.0, false},
    {"fp8_weight_only", DType::fp8, true, 8.0, 32.0, false},
    {"int8", DType::int8, false, 8.0, 32.0, false},
    {"w8a8", DType::int8, false, 8.0, 32.0, false},
    {"int8_weight_only", DType::int8, true, 8.0, 32.0, false},
    {"gptq_int8", DType::int8, true, 8.0 + 16.0 / 128.0, 0.0, false},
    {"awq", DType::int4, true, 4.0 + 20.0 / 128.0, 0.0, false},
    {"awq_marlin", DType::int4, true, 4.0 + 20.0 / 128.0, 0.0, false},
    {"gptq", DType::int4, true, 4.0 + 16.0 / 128.0, 0.0, false},
    {"gptq_marlin", DType::int4, true, 4.0 + 16.0 / 128.0, 0.0, false},
    {"int4", DType::int4, true, 4.0 + 16.0 / 128.0, 0.0, false},
    {"nvfp4", DType::fp4, false, 4.5, 0.0, false},
    {"modelopt_fp4", DType::fp4, false, 4.5, 0.0, false},
    {"mxfp4", DType::fp4, true, 4.25, 0.0, true},
    {"bitsandbytes", DType::int4, true, 4.5, 0.0, false},
    {"bitsandbytes_int8", DType::int8, true, 8.0, 32.0, false},
};

const Method* find_method(const std::string& name) {
  const auto found =
      std::find_if(std::begin(methods), std::end(methods), [&](const Method& m) { return name == m.name; });
  return found == std::end(methods) ? nullptr : found;
}

// Stored KV formats. fp8 has per-tensor scales (nothing per element). int8: one fp16 scale and zero per 64 elements of
// a head (an assumption; engines differ). int4 and int2 as in KIVI (arXiv 2402.02750, its default group of 32, or 64):
// fp16 scale and zero per group; its residual window of recent 16-bit tokens (128 by default) is not counted.
struct KvMethod {
  const char* name;
  DType type;
  double bits;
};
constexpr KvMethod kv_methods[] = {
    {"bf16", DType::bf16, 16.0},
    {"bfloat16", DType::bf16, 16.0},
    {"fp16", DType::fp16, 16.0},
    {"float16", DType::fp16, 16.0},
    {"half", DType::fp16, 16.0},
    {"fp32", DType::fp32, 32.0},
    {"float32", DType::fp32, 32.0},
    {"fp8", DType::fp8, 8.0},
    {"fp8_e4m3", DType::fp8, 8.0},
    {"fp8_e5m2", DType::fp8, 8.0},
    {"fp8_ds_mla", DType::fp8, 8.0},
    {"int8", DType::int8, 8.0 + 32.0 / 64.0},
    {"nvfp4", DType::fp4, 4.5},
    {"int4", DType::int4, 4.0 + 32.0 / 32.0},
    {"int4_g64", DType::int4, 4.0 + 32.0 / 64.0},
    {"int2", DType::int2, 2.0 + 32.0 / 32.0},
    {"int2_g64", DType::int2, 2.0 + 32.0 / 64.0},
};

DType parse_dtype(const std::string& name, DType release) {
  if (name == "auto") return release;
  if (name == "bfloat16" || name == "bf16") return DType::bf16;
  if (name == "float16" || name == "fp16" || name == "half") return DType::fp16;
  if (name == "float32" || name == "fp32" || name == "float") return DType::fp32;
  throw ConfigError("unknown dtype `" + name + "`" +
                    suggestion(name, {"auto", "bfloat16", "float16", "float32", "bf16", "fp16", "fp32", "half"}));
}

WeightFormat plain_format(DType type) {
  const std::string name(to_string(type));
  return {.name = name, .storage = type, .math = type, .bits = static_cast<double>(bits(type))};
}

/// "fp8" asked of a checkpoint in 128 x 128 blocks is the same method, and so on.
bool same_method(const std::string& asked, const std::string& stored) {
  const auto family = [](const std::string& name) -> std::string {
    if (name == "awq_marlin") return "awq";
    if (name == "gptq_marlin") return "gptq";
    if (name == "fp8_block128") return "fp8";
    if (name == "modelopt_fp4") return "nvfp4";
    return name;
  };
  return family(asked) == family(stored);
}

}  // namespace

WeightFormat weight_format(const std::string& quantization, DType release) {
  if (quantization == "none") return plain_format(release);
  const Method* method = find_method(quantization);
  if (method == nullptr) {
    throw ConfigError("unknown quantization `" + quantization + "`" + suggestion(quantization, quantization_names()));
  }
  return {.name = method->name,
          .storage = method->storage,
          .math = method->weight_only ? release : method->storage,
          .bits = method->bits,
          .bits_per_output = method->bits_per_output,
          .quantises_input = !method->weight_only};
}

std::vector<std::string> quantization_names() {
  std::vector<std::string> names{"auto", "none"};
  for (const Method& method : methods) names.emplace_back(method.name);
  return names;
}

ModelSpec with_precision(ModelSpec model, const std::string& quantization, const std::string& dtype) {
  model.release_dtype = parse_dtype(dtype, model.release_dtype);
  model.formats.front() = plain_format(model.release_dtype);
  for (std::size_t i = 1; i < model.formats.size(); ++i) {
    WeightFormat& format = model.formats[i];
    if (!format.quantises_input) format.math = model.release_dtype;
  }
  if (quantization == "auto") return model;

  const WeightFormat format = weight_format(quantization, model.release_dtype);
  if (model.quantization != "none") {
    if (same_method(quantization, model.quantization)) return model;
    throw ConfigError("quantization `" + quantization + "` does not match `" + model.name + "`, whose checkpoint is `" +
                      model.quantization + "`; leave it at `auto`");
  }
  if (quantization == "none") return model;

  model.quantization = quantization;
  model.formats.resize(1);
  model.formats.push_back(format);
  const bool experts_only = find_method(quantization)->experts_only && model.moe.has_value();
  for (LayerSpec& layer : model.layers) {
    if (!experts_only) layer.format.fill(1);
    layer.format[static_cast<std::size_t>(LinearKind::experts)] = 1;
  }
  return model;
}

KvFormat kv_format(const std::string& kv_cache_dtype, const ModelSpec& model) {
  std::string name = kv_cache_dtype;
  if (name == "auto") name = model.kv_cache_dtype;
  if (name == "auto") name = std::string(to_string(model.release_dtype));
  const auto found =
      std::find_if(std::begin(kv_methods), std::end(kv_methods), [&](const KvMethod& m) { return name == m.name; });
  if (found == std::end(kv_methods)) {
    throw ConfigError("unknown kv_cache_dtype `" + name + "`" + suggestion(name, kv_cache_dtype_names()));
  }
  if (name == "fp8_ds_mla" && !model.mla) {
    throw ConfigError("kv_cache_dtype `fp8_ds_mla` is for latent attention (MLA); `" + model.name + "` has none");
  }
  return {.name = found->name, .type = found->type, .bits = found->bits};
}

std::vector<std::string> kv_cache_dtype_names() {
  std::vector<std::string> names{"auto"};
  for (const KvMethod& method : kv_methods) names.emplace_back(method.name);
  return names;
}

}  // namespace ridgeline
