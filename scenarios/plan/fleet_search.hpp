// The cheapest fleets that pass a judge, found by branch and bound: bounds decide what they can, the judge the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline {

/// One kind of replica, as far as the search needs to know it.
struct ReplicaOption {
  std::vector<double> price;  ///< price[n] = dollars per hour of n replicas, spares included; rising, price[0] = 0
  std::vector<int> gpus;      ///< the same in GPUs; may be empty where GPUs are not limited
  double capacity = 0.0;      ///< upper bound of the load one replica can carry; 0 = can't serve at all
  int least = 1;              ///< replicas; fewer are not in the space
  std::string kind;           ///< options of one kind (one GPU type) are not mixed with each other

  [[nodiscard]] int most() const { return static_cast<int>(price.size()) - 1; }
};

/// Replicas by option, options in rising order, counts positive.
using Fleet = std::vector<std::pair<std::size_t, int>>;

struct FleetSearch {
  double load = 0.0;      ///< what the capacities must sum to
  double most_price = 0;  ///< dollars per hour; 0 = no limit
  int most_gpus = 0;      ///< of the whole fleet; 0 = no limit
  int top = 1;            ///< how many fleets to find, the cheapest of each kind (GPU type, or pair of them)
  bool mixed = false;     ///< also pairs of options of different kinds
};

/// How every point of the search space was decided. The counts sum to `points`.
struct SearchCounts {
  std::int64_t points = 0;      ///< fleets in the space
  std::int64_t capacity = 0;    ///< the bound says they can't carry the load
  std::int64_t price = 0;       ///< dearer than the fleets already found, or beyond a limit of the search
  std::int64_t order = 0;       ///< decided by a smaller fleet that passed or a larger one that failed
  std::int64_t judged = 0;      ///< by the judge
};

struct FoundFleet {
  Fleet fleet;
  double price = 0.0;
  Fleet fails;   ///< one replica fewer: judged or bounded to fail; empty when a single replica does
  bool fails_by_bound = false;  ///< `fails` was not judged: its capacity bound is below the load
};

struct FleetSearchResult {
  std::vector<FoundFleet> found;  ///< cheapest first; ties in the order of the options
  SearchCounts counts;
};

/// True when the fleet meets the objective. Adding replicas to a fleet that passes is assumed to give one that passes.
using FleetJudge = std::function<bool(const Fleet&)>;

/// Finds the cheapest fleet of one option for each of the `top` cheapest kinds, then (when mixed) pairs that cost less: pairs of
/// each kind's best option.
/// With a truthful bound and a monotone judge the first is the optimum of the whole space.
FleetSearchResult cheapest_fleets(const std::vector<ReplicaOption>& options, const FleetSearch& search, const FleetJudge& judge);

double price_of(const std::vector<ReplicaOption>& options, const Fleet& fleet);

}  // namespace ridgeline
