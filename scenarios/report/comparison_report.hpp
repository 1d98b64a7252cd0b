// A comparison for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/study/comparison.hpp"
#include "scenarios/study/metric.hpp"

namespace ridgeline {

/// One table a rival: every figure of both, the difference with its 95 % interval, and a verdict; then which changed key moved what.
std::string comparison_text(const Comparison& comparison);

/// How many replications, on which requests, and whether the target was met: a line each.
std::string how_it_ran(const Comparison& comparison);
/// "better", "no significant difference", …
std::string verdict(const Metric& metric, const Estimate& difference);
/// "-3.1 ± 0.4".
std::string difference_text(const Estimate& difference);
/// Places in `metrics()` of what an attribution to `rival` shows: the figure that the comparison is about, then the usual ones.
std::vector<std::size_t> attributed_metrics(const Comparison& comparison, std::size_t rival);
/// "engine.dtype: float16 -> bfloat16".
std::string change_text(const KeyEffect& key);

nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace ridgeline
