// Loads as a router that polls metrics sees them: as they were at the last poll.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// All replicas are polled together at multiples of `interval`. O(1) a change: what a poll saw is found out afterwards.
class PolledLoads {
 public:
  PolledLoads(std::size_t replicas, Duration interval) : interval_(interval), replicas_(replicas) {}

  void changed(std::size_t replica, const SchedulerLoad& load, Time now) {
    (void)at(replica, now);  // a poll between the last change and this one saw the load before it
    replicas_[replica].current = load;
  }
  const SchedulerLoad& at(std::size_t replica, Time now) {
    Entry& entry = replicas_[replica];
    const std::int64_t poll = now.since_start() / interval_;
    if (poll > entry.poll) entry.seen = entry.current, entry.poll = poll;
    return entry.seen;
  }

 private:
  struct Entry {
    SchedulerLoad current;
    SchedulerLoad seen;
    std::int64_t poll = 0;
  };
  Duration interval_;
  std::vector<Entry> replicas_;
};

}  // namespace ridgeline
