#include "sim/scheduling/swap_space.hpp"

#include <fmt/format.h>

namespace ridgeline {

void SwapSpace::put(Sequence& sequence, std::int64_t blocks, HostTransfer& out) {
  if (blocks > free_) {
    throw ConfigError(fmt::format("swap_space is too small: {} preempted sequences hold {} of its {} blocks, and request {} brings {} "
                                  "more. vLLM V0 aborts here; give it more, or preempt by recompute",
                                  sequences(), used_blocks(), host_.swap_blocks, sequence.row, blocks));
  }
  free_ -= blocks;
  sequences_.insert(&sequence);
  out += transfer(blocks);
}

void SwapSpace::take_first(std::int64_t blocks, HostTransfer& in) {
  free_ += blocks;
  sequences_.erase(sequences_.begin());
  in += transfer(blocks);
}

}  // namespace ridgeline
