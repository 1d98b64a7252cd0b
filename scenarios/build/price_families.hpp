// Which families of operators price a pool's steps, where their parameters come from, and how wrong they may be.
#pragma once

#include <string>
#include <vector>

#include "scenarios/load/scenario.hpp"
#include "sim/cost/operator.hpp"
#include "sim/cost/price.hpp"

namespace ridgeline {

/// One operator family of a pool.
struct PriceFamily {
  std::string name;    ///< gemm, gemm_fp8, attention_decode, …; `step` where the scenario gives the time of a step
  Provenance provenance = Provenance::datasheet;
  std::string gpu;     ///< whose measurements; empty where there are none
  std::string source;  ///< campaign and kernels, or the file of a measured table
  double error = 0.0;  ///< expected mean absolute relative error; 0 = not stated (given, or read off a table)
};

/// The families that price the pool's steps. The measured table, if any, comes first: what follows fills its gaps.
std::vector<PriceFamily> price_families(const Scenario& scenario, const Pool& pool);

/// Name of the family that prices `op`. A step of prompts and decodes has one attention kernel, priced as a prefill.
std::string_view price_family_of(const Op& op);

}  // namespace ridgeline
