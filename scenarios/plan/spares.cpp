#include "scenarios/plan/spares.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace ridgeline {

double probability_up(int needed, int installed, double replica_availability) {
  if (needed <= 0) return 1.0;
  if (needed > installed) return 0.0;
  if (replica_availability >= 1.0) return 1.0;
  const boost::math::binomial_distribution<double> up(installed, replica_availability);
  return boost::math::cdf(boost::math::complement(up, needed - 1));
}

int spare_replicas(int needed, const Availability& availability) {
  constexpr int most = 1000;
  for (int spares = 0; spares <= most; ++spares) {
    if (probability_up(needed, needed + spares, availability.replica) >= availability.fleet) return spares;
  }
  throw ConfigError(fmt::format("plan.availability: {} spare replicas beside {} do not give {} with replicas that are up {} of the time",
                                most, needed, availability.fleet, availability.replica));
}

}  // namespace ridgeline
