// The link between a GPU and the memory of its host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/base/units.hpp"

namespace ridgeline {

/// KV blocks on their way between one GPU and its host's memory. `copies`: DMA transfers they take.
struct HostTransfer {
  std::int64_t sequences = 0;
  std::int64_t blocks = 0;
  std::int64_t copies = 0;
  Bytes bytes;

  HostTransfer& operator+=(const HostTransfer& other) {
    sequences += other.sequences, blocks += other.blocks, copies += other.copies, bytes += other.bytes;
    return *this;
  }
};

/// One GPU's link. Both directions reach `bandwidth` at once, but copies of one CUDA stream follow each other.
struct HostLink {
  BytesPerSecond bandwidth;  ///< reached by large copies from pinned memory, one direction; 0 = moving takes no time
  Duration per_copy;         ///< CPU time to submit one copy: bounds many small ones

  [[nodiscard]] Duration time(const HostTransfer& moved) const {
    if (bandwidth.count() <= 0) return Duration{};
    return std::max<Duration>(moved.bytes / bandwidth, per_copy * moved.copies);
  }
};

}  // namespace ridgeline
