// Reads a Hugging Face `config.json` (and ModelOpt's hf_quant_config.json beside it), or GGUF metadata written as JSON.
//
// Every mistake of a file is reported at once. Families differ in what they call things; no dimension is ever guessed:
// a key that is missing is an error that says which names were looked for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "models/model_spec.hpp"

namespace ridgeline {

/// A config.json, or the folder that holds one. Throws ConfigError.
ModelSpec load_hf_config(const std::filesystem::path& path);

/// From text; `file` is what errors call it. Throws ConfigError.
ModelSpec parse_hf_config(std::string_view text, const std::string& file);

}  // namespace ridgeline
