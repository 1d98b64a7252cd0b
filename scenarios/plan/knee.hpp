// The largest load that meets an objective: bracket, then bisect.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace ridgeline {

/// How to search. Loads are positive; the step between tries is a factor, so the search is even on a log scale.
struct KneeSearch {
  double start = 1.0;        ///< first load tried
  double least = 1e-3;       ///< below this, nothing meets the objective
  double most = 1e9;         ///< above this, everything does
  double tolerance = 0.01;   ///< bisection ends when the failing load is within this share of the passing one
  bool whole = false;        ///< loads are whole numbers (requests in flight)
};

/// Where meeting turns into missing. `meets` is assumed to change once; on a noisy slope it is one of the crossings.
struct Knee {
  std::optional<double> passes;  ///< highest load found to meet the objective; absent when even `least` misses it
  std::optional<double> fails;   ///< lowest load above it found to miss; absent when even `most` meets it
  std::vector<double> tried;     ///< in order
};

Knee find_knee(const std::function<bool(double load)>& meets, const KneeSearch& search);

}  // namespace ridgeline
