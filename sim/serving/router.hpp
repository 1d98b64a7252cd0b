// The seam to routing policies: which replica serves a request.
#pragma once

#include <cstdint>

#include "sim/base/id.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// Chooses replicas. Told of every change so that a choice costs O(1) or O(log replicas), never a scan.
class Router {
 public:
  virtual ~Router() = default;
  [[nodiscard]] virtual ReplicaId choose(const Request& request) = 0;
  /// `outstanding` = requests routed to the replica and not finished; usage in blocks. Called after every change.
  virtual void changed(ReplicaId /*replica*/, std::int64_t /*outstanding*/, const SchedulerLoad& /*load*/) {}
  /// Routers that never look at loads spare the cluster the calls.
  [[nodiscard]] virtual bool wants_changes() const { return false; }
  /// False: it looks at `outstanding` only. Then `load` may be as of the start of a run of decode steps.
  [[nodiscard]] virtual bool watches_load() const { return wants_changes(); }
};

}  // namespace ridgeline
