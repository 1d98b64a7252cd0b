// GGUF metadata written as JSON ("llama.block_count", …), as llama.cpp's gguf-dump prints it.
#pragma once

#include "models/json_document.hpp"
#include "models/model_spec.hpp"

namespace ridgeline {

bool is_gguf_metadata(const JsonObject& root);

/// Head width: `attention.key_length`, else embedding_length / head_count where that divides. `head_count_kv` may be a
/// list per layer. `general.file_type` gives the bits per weight. Throws ConfigError.
ModelSpec read_gguf_metadata(const JsonObject& root);

}  // namespace ridgeline
