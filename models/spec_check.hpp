// What every model must satisfy, whichever file it came from.
#pragma once

#include <functional>
#include <string>

#include "models/model_spec.hpp"

namespace ridgeline {

/// Takes the key at fault, by its Hugging Face name, and one sentence.
using Complain = std::function<void(const std::string& key, const std::string& what)>;

/// Complains of every contradiction: KV heads that do not divide the heads, windows without a length, …
void check_spec(const ModelSpec& model, const Complain& complain);

}  // namespace ridgeline
