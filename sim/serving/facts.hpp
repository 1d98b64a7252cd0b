// Facts: plain records of what happened. Observers listen and never act on the simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/id.hpp"
#include "sim/cost/price.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// A completed engine step.
struct StepDone {
  PoolId pool;
  ReplicaId replica;
  std::int64_t step = 0;  ///< counts from 1 per replica
  Time start;
  Time end;
  const StepPlan* plan = nullptr;    ///< valid during the call
  const StepPrice* price = nullptr;  ///< valid during the call
  SchedulerLoad planned;             ///< right after the step was planned, its blocks taken
  SchedulerLoad load;                ///< after outputs were applied and finished requests left
  std::optional<KvWaste> waste;      ///< while it ran
  const std::vector<StepRow>* rows = nullptr;  ///< null unless a step log was asked for
};

/// Chunks emitted together: `sequences` gaps of length `gap`, `tokens` tokens.
struct ChunksEmitted {
  PoolId pool;
  Time now;
  Duration gap;
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
};

/// A step with its times.
struct TimedStep {
  StepPrice price;
  Time end;
  Tokens computed;        ///< rows of its batch
  SchedulerLoad planned;  ///< right after it was planned, its blocks taken
  std::optional<KvWaste> waste;
};

/// Completed steps in a row that each gave one token to each of the same sequences, while nothing else happened on the replica.
struct DecodeRun {
  PoolId pool;
  ReplicaId replica;
  Time start;     ///< of the first step; each of the others starts where the one before ends
  Time previous;  ///< when the sequences got their tokens before
  std::int64_t sequences = 0;
  std::span<const TimedStep> steps;  ///< valid during the call
};

/// Listens to facts. Default: ignores them.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void arrived(const Request& /*request*/, Time /*now*/) {}
  virtual void routed(const Request& /*request*/, Time /*now*/) {}
  virtual void admitted(const Request& /*request*/, Tokens /*cached*/, Time /*now*/) {}
  virtual void preempted(const Request& /*request*/, Time /*now*/) {}
  virtual void first_token(const Request& /*request*/, Time /*now*/) {}
  virtual void chunks(const ChunksEmitted& /*fact*/) {}
  virtual void verified(PoolId /*pool*/, const DraftsVerified& /*drafts*/) {}  ///< just before its step's `step_done`
  virtual void swapped(PoolId /*pool*/, const HostTraffic& /*with_next_step*/) {}
  virtual void kv_evicted(PoolId /*pool*/, Tokens /*dropped*/) {}
  virtual void offloaded(PoolId /*pool*/, const HostTraffic& /*started*/) {}
  virtual void cache_evicted(PoolId /*pool*/, std::int64_t /*blocks*/) {}
  virtual void step_done(const StepDone& /*fact*/) {}
  virtual void finished(const Request& /*request*/, Time /*now*/) {}

  /// True: the observer may hear of several steps at once and after the fact, through `run_done` in place of `step_done` and
  /// `chunks`. False: replicas take every step by itself.
  [[nodiscard]] virtual bool takes_runs() const { return false; }
  virtual void run_done(const DecodeRun& /*fact*/) {}
};

}  // namespace ridgeline
