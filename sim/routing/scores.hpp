// The formulas inside routers, apart from the bookkeeping, so that tests can feed them numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/router.hpp"

namespace ridgeline {

/// What llm-d's scorers know of a pod when a prompt of `blocks` blocks comes.
struct LlmDView {
  std::int64_t queue = 0;    ///< requests waiting in the engine
  double kv_usage = 0.0;     ///< share of KV blocks referenced
  std::int64_t matched = 0;  ///< leading blocks of the prompt that were sent there before
  std::int64_t blocks = 0;
};
/// Higher is better.
std::vector<double> llm_d_scores(const std::vector<LlmDView>& pods, const RouterConfig& weights);

/// SGLang's gateway routes by load alone when loads (requests in flight) differ too much.
bool is_imbalanced(std::int64_t least, std::int64_t most, const RouterConfig& limits);

/// What Dynamo's router knows of a worker when a prompt comes.
struct DynamoView {
  std::int64_t prefill_tokens = 0;  ///< still to prefill there, this prompt's uncached tokens included
  std::int64_t decode_blocks = 0;   ///< held by requests there, this prompt's included
};
/// Lower is better.
double dynamo_cost(const DynamoView& worker, const RouterConfig& config);

}  // namespace ridgeline
