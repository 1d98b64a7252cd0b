// Context length after the rope rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/json_document.hpp"

namespace ridgeline {

/// Longest context of a checkpoint. `declared` is its max_position_embeddings (or the older name of it).
///
/// yarn in any vendor's spelling: original_max_position_embeddings x factor where the original is given, else as
/// declared; linear and dynamic: (original or declared) x factor; llama3, longrope, su, mrope and default: as declared.
/// Gemma 3 declares its length with the factor applied. (vLLM 0.11 `config._get_and_verify_max_len`; multiplying yarn's
/// factor onto the declared length is the classic mistake.)
std::int64_t context_length(const JsonObject& config, const std::string& model_type, std::int64_t declared,
                            Diagnostics& errors, std::vector<std::string>& notes);

}  // namespace ridgeline
