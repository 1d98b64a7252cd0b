// Queue, batch and KV use over the course of a run, in a bounded number of equal bins.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/facts.hpp"

namespace ridgeline {

/// Time averages per pool. Bins start one millisecond wide; when the run outgrows them, neighbours merge and the width doubles.
class History final : public Observer {
 public:
  static constexpr std::size_t bins = 512;

  /// Means over one bin.
  struct Point {
    Time middle;
    double running = 0;   ///< sequences in the batches of all replicas
    double waiting = 0;   ///< requests waiting in all replicas
    double kv_usage = 0;  ///< share of the pool's usable KV blocks that is referenced
  };

  /// `replica_pool[i]` = pool of replica i.
  History(std::size_t pools, std::vector<std::uint32_t> replica_pool);

  void step_done(const StepDone& fact) override;

  /// Up to the last step of any pool.
  [[nodiscard]] std::vector<Point> points(std::size_t pool) const;

 private:
  struct Level {
    double running = 0, waiting = 0, used = 0;
  };
  struct PoolHistory {
    std::vector<Level> integrals = std::vector<Level>(bins);  // level x seconds
    Level now;                                               // sums over the replicas
    Time since;
    double blocks = 0;
  };

  void integrate(PoolHistory& pool, Time until) const;
  void widen();

  std::vector<PoolHistory> pools_;
  std::vector<std::uint32_t> replica_pool_;
  std::vector<Level> replicas_;
  std::vector<bool> known_;  // replica: its blocks are counted
  Duration width_;
  Time last_;
};

}  // namespace ridgeline
