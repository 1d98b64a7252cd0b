#pragma once

#include <string_view>

namespace ridgeline {

/// The project's version, as in CMakeLists.txt. Part of every result.
std::string_view version();

}  // namespace ridgeline
