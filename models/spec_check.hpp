// What every model must satisfy, whichever file it came from.
#pragma once

#include <functional>
#include <string>

#include "models/model_spec.hpp"

namespace ridgeline {

/// Calls `complain` with one sentence per contradiction: heads that KV heads do not divide, more KV heads than heads, …
void check_spec(const ModelSpec& model, const std::function<void(const std::string&)>& complain);

}  // namespace ridgeline
