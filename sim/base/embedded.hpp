// Data files compiled into the binary (catalogs, presets, report assets): no search path, nothing to install beside it.
#pragma once

#include <span>
#include <string_view>

namespace ridgeline {

struct EmbeddedFile {
  std::string_view name;  ///< file name without extension
  std::string_view text;
};

}  // namespace ridgeline
