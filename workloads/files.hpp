// Files that a scenario names.
#pragma once

#include <string>

namespace ridgeline {

/// Absolute name of `name`: beside the file `named_in` if it is there, otherwise in the working directory.
std::string find_file(const std::string& name, const std::string& named_in);

/// A YAML double-quoted scalar.
std::string quoted(const std::string& text);

}  // namespace ridgeline
