// Quantised checkpoints: which modules are stored in which format, from `quantization_config` or ModelOpt's
// hf_quant_config.json.
#pragma once

#include <optional>

#include "models/json_document.hpp"
#include "models/model_spec.hpp"

namespace ridgeline {

/// Reads `quantization_config` (or `compression_config`) of `config` into the formats of `model`, whose dimensions and
/// layers are complete. Methods: fp8, fbgemm_fp8, awq, gptq, compressed-tensors, modelopt (FP8, NVFP4), mxfp4,
/// bitsandbytes, auto-round. Anything else is a mistake: a checkpoint is never sized as if it were not quantised.
void read_quantization(const JsonObject& config, ModelSpec& model, Diagnostics& errors);

/// The same from the `quantization` object of an hf_quant_config.json.
void read_modelopt_file(const JsonObject& file, ModelSpec& model, Diagnostics& errors);

}  // namespace ridgeline
