// What a GPU draws, by what its time goes to.
#pragma once

#include <array>

#include "hardware/gpu.hpp"
#include "sim/cost/price.hpp"

namespace ridgeline {

/// Watts of one GPU while each cause rules its step time.
///
/// Shares of the power limit, from public measurements: large matrix products sit at the limit (691 of 700 W on H200, 989 of
/// 1000 W on B200; aiconfigurator power log), serving small dense models at batch 8, where weight reads rule, draws 427-510 of
/// 700 W on H100 (ML.ENERGY), decode attention 250-512 W on H200. Expect 15 % error; the idle figure is the GPU's own.
std::array<Watts, cause_count> power_by_cause(const GpuSpec& gpu);

}  // namespace ridgeline
