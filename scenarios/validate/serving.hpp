// Published serving benchmarks, run: every row's scenario is built, simulated and compared, figure by figure.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "scenarios/validate/figures.hpp"
#include "scenarios/validate/serving_row.hpp"

namespace ridgeline {

struct ServingOptions {
  std::vector<std::string> overrides;  ///< "path.to.key=VALUE", for every row's scenario
  std::size_t jobs = 1;  ///< threads; the answer is the same for any number
  std::function<void(std::size_t done)> progress;  ///< may be empty; rows finished, one call at a time
};

/// Throws ConfigError for files that can't be read; rows that can't be run are counted by reason.
FigureValidation validate_serving(const std::vector<std::filesystem::path>& files, const ServingOptions& options);
FigureValidation validate_serving(const std::vector<ServingRow>& rows, const ServingOptions& options);

}  // namespace ridgeline
