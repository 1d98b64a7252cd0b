// What the uncertainty of prices does to a run's figures.
//
// Every operator family's prices are multiplied by one log-normal factor a draw, of median 1 and E|factor - 1| about the family's
// expected error: the error is taken as common to all shapes of the family (fully correlated, the cautious reading), and as
// independent between families. Pools that rest on the same measurements share the factor. Host time that no measurement stands behind
// (the engine profile's default) is as uncertain as a family without one. Factors are a Latin hypercube of keyed random streams
// (McKay, Beckman, Conover, Technometrics 1979), so few draws cover the range; every draw meets the same requests.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/study/metric.hpp"

namespace ridgeline {

/// One factor that is drawn.
struct UncertainPrice {
  std::string family;  ///< of price_families.hpp, or `host`
  std::string gpu;     ///< whose measurements, or the GPU where there are none; the engine profile of `host`
  double error = 0.0;  ///< expected mean absolute relative error
};

/// A figure's range over the draws.
struct UncertainFigure {
  const Metric* metric = nullptr;
  double unchanged = 0;                     ///< with prices as they are
  double low = 0, median = 0, high = 0;     ///< 5th, 50th and 95th percentile of the draws
  /// The interval spans a factor of two or more.
  [[nodiscard]] bool undetermined() const { return high > 2 * low; }
};

struct Uncertainty {
  std::size_t draws = 0;
  std::vector<UncertainPrice> prices;
  std::vector<UncertainFigure> figures;
  std::size_t saturated = 0;            ///< draws
  std::optional<std::size_t> slo_met;   ///< draws; absent without an objective for the run
  /// The knee (saturation, or the edge of the SLO) lies within the prices' uncertainty; latencies that are not determined.
  std::vector<std::string> warnings;
};

/// The factors `uncertainty` would draw; empty when the scenario states its step time, and nothing is uncertain.
std::vector<UncertainPrice> uncertain_prices(const Scenario& scenario);

/// `draws` runs of the scenario, on `jobs` threads. `unchanged`: its plain run.
Uncertainty uncertainty(const Scenario& scenario, const RunResult& unchanged, std::size_t draws, std::size_t jobs,
                        const std::function<void(std::size_t)>& done = {});

}  // namespace ridgeline
