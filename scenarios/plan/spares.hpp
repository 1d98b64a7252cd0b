// How many replicas beyond the needed ones a stated availability asks for.
#pragma once

namespace ridgeline {

/// What must be up, and how often a replica is.
struct Availability {
  double replica = 1.0;  ///< share of time that one replica is up, independent of the others
  double fleet = 0.0;    ///< share of time that all needed replicas must be up
};

/// P(at least `needed` of `installed` replicas are up), replicas failing independently: the upper tail of a binomial,
/// sum over i >= needed of C(installed, i) a^i (1 - a)^(installed - i).
double probability_up(int needed, int installed, double replica_availability);

/// The least k with probability_up(needed, needed + k) >= availability.fleet. Throws ConfigError when 1,000 do not do.
int spare_replicas(int needed, const Availability& availability);

}  // namespace ridgeline
