// Quantisation by name: vLLM's `quantization`, `dtype` and `kv_cache_dtype` values, what they store and what they
// compute in.
#pragma once

#include <string>
#include <vector>

#include "models/model_spec.hpp"

namespace ridgeline {

/// Storage of the KV cache.
struct KvFormat {
  std::string name = "bf16";
  DType type = DType::bf16;
  double bits = 16.0;  ///< per element, scales and zero points included

  friend bool operator==(const KvFormat&, const KvFormat&) = default;
};

/// Weight formats by vLLM's `quantization` name ("none", "fp8", "awq", "gptq", "int8", "nvfp4", "mxfp4", …). Throws
/// ConfigError.
WeightFormat weight_format(const std::string& quantization, DType release);
std::vector<std::string> quantization_names();

/// The model with its linear layers stored as `quantization` asks; embeddings, head, norms and routers stay 16-bit.
/// "auto" keeps the checkpoint as it is. A checkpoint that is quantised already refuses another method, as vLLM does.
/// `dtype` is "auto", "bfloat16"/"bf16", "float16"/"fp16"/"half", "float32"/"fp32". Throws ConfigError.
ModelSpec with_precision(ModelSpec model, const std::string& quantization, const std::string& dtype = "auto");

/// KV format by `kv_cache_dtype`: "auto" follows the checkpoint. Throws ConfigError.
KvFormat kv_format(const std::string& kv_cache_dtype, const ModelSpec& model);
std::vector<std::string> kv_cache_dtype_names();

}  // namespace ridgeline
