// Workloads that ship with the project, fitted to published statistics: workloads/presets/*.yaml, compiled in.
#pragma once

#include <span>

#include "sim/base/embedded.hpp"

namespace ridgeline {

std::span<const EmbeddedFile> workload_presets();

}  // namespace ridgeline
