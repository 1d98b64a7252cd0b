// A request in SGLang, with its place in the radix tree.
#pragma once

#include <vector>

#include "sim/scheduling/sequence.hpp"
#include "sim/serving/radix_tree.hpp"

namespace ridgeline {

struct SglangSequence : Sequence {
  Content content;                  ///< prompt and outputs, by name
  RadixTree::Node* node = nullptr;  ///< where its cached prefix ends; locked while the request is in a batch
  std::int64_t cached = 0;          ///< tokens of that prefix (SGLang: prefix_indices)
  std::int64_t in_tree = 0;         ///< leading tokens whose KV the tree owns
  std::int64_t extend = 0;          ///< tokens to compute in the step being formed
  bool finished = false;            ///< still listed in a batch, until that is filtered
};

/// In batch order.
using SglangBatch = std::vector<SglangSequence*>;

}  // namespace ridgeline
