// What copies between a GPU and its host's memory reach.
#pragma once

#include "hardware/gpu.hpp"
#include "sim/cost/host_link.hpp"

namespace ridgeline {

/// Large pinned copies: 55.4 of 64 GB/s on PCIe 5 x16 (nvbandwidth on eight H200), 359 of 450 GB/s on NVLink-C2C (host to device, a
/// GB300 workstation; both stas00/ml-engineering 744d01e1). Submitting one copy: 5 to 7 us (DualPath, arXiv 2602.21548, section 5.2).
inline HostLink host_link(const GpuSpec& gpu) {
  constexpr BytesPerSecond fastest_pcie{128e9};
  const double reached = gpu.host_link > fastest_pcie ? 359.0 / 450.0 : 55.4 / 64.0;
  return {.bandwidth = BytesPerSecond{gpu.host_link.count() * reached}, .per_copy = Duration::microseconds(5)};
}

}  // namespace ridgeline
