// How the tokens of a step spread over routed experts: what decides the price of an MoE layer.
//
// `skew` = 0: the router balances perfectly, tokens * top_k picks go round the experts. `skew` > 0: popularity follows a power
// law of that exponent, the hottest expert being `hottest` times as popular as the coldest, and the rank priced is the one with
// the most work, for the others wait for it. With
//
//   hottest = 0.8 tokens, but at least 200 while there are fewer picks than experts   (the generator behind the measurements,
//                                                                     aiconfigurator's power_law_logits)
//   an expert's load is its popularity times the picks, rounded; a pick that is rounded away goes to an idle expert;
//   busiest rank   = 1 + 0.78 ln(ranks) cv / sqrt(experts per rank), cv = coefficient of variation of popularity, at most what
//                    tokens and top_k allow. The factor 0.78 reproduces 60 draws of that generator for 8 and 32 ranks
//                    and 8 to 512 experts within 15 %.
#pragma once

#include "sim/cost/operator.hpp"

namespace ridgeline {

/// Of the busiest rank. Expected values, hence not whole numbers.
struct ExpertLoad {
  double rows = 0.0;     ///< (token, expert) pairs computed on this rank
  double active = 0.0;   ///< experts with at least one row: their weights are read
  bool balanced = true;  ///< all active experts have the same number of rows

  /// Blocks of `tile_rows` rows that cover every expert's rows.
  [[nodiscard]] double row_blocks(double tile_rows) const;
};

ExpertLoad expert_load(const MoeShape& shape);

}  // namespace ridgeline
