// A comparison for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "scenarios/study/comparison.hpp"

namespace ridgeline {

/// One table a rival: every figure of both, the difference with its 95 % interval, and a verdict; then which changed key moved what.
std::string comparison_text(const Comparison& comparison);

nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace ridgeline
