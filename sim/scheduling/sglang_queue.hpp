// The order of SGLang's waiting queue.
#pragma once

#include <string>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/scheduling/sglang_sequence.hpp"

namespace ridgeline {

class SglangQueuePolicy {
 public:
  /// `name`: fcfs, lpm, dfs-weight, lof, random. The cache-aware ones become fcfs without a cache, as in SGLang.
  SglangQueuePolicy(const std::string& name, bool has_cache, RandomStream random);

  /// Reorders the queue in place. Cache-aware policies look every request up, which marks its cached prefix used.
  void sort(std::vector<SglangSequence*>& queue, RadixTree& tree);

 private:
  enum class Kind { fcfs, longest_prefix_match, depth_first, longest_output_first, random };

  static Kind kind_of(const std::string& name, bool has_cache);
  void sort_by_prefix(std::vector<SglangSequence*>& queue, RadixTree& tree);
  void sort_depth_first(std::vector<SglangSequence*>& queue, RadixTree& tree);

  Kind kind_;
  RandomStream random_;
  RadixTree queued_{1};  // prompts seen in this sort, to find those that share a prefix
};

}  // namespace ridgeline
