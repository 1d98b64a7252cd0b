// The roofline of a pool (Williams, Waterman, Patterson 2009): attainable FLOP/s over arithmetic intensity, with the operators of a
// typical prefill and decode step and the trail of the decode step as the batch grows.
#pragma once

#include <optional>

#include "scenarios/report/explain.hpp"
#include "scenarios/report/html/page.hpp"

namespace ridgeline::html {

/// Nothing where the model has no priced steps.
std::optional<LineChart> roofline_chart(const Explanation& explanation);

}  // namespace ridgeline::html
