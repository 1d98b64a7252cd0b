// A document as a list of its values, each under its dotted path.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/config.hpp"

namespace ridgeline {

/// ("fleet[0].engine.block_size", 16), … in file order. Empty maps and lists are values too.
std::vector<std::pair<std::string, Config>> flatten(const Config& document);

}  // namespace ridgeline
