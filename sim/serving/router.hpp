// The seam to routing policies: which replica serves a request.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/id.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// A routing policy with its parameters; each policy reads those that its registry row names.
struct RouterConfig {
  std::string policy = "round-robin";
  Duration metrics_interval = Duration::milliseconds(50);  ///< age that polled loads can reach
  std::int64_t block_size = 16;                            ///< tokens a block of the router's own prefix index
  double queue_weight = 2.0;                               ///< of scores between 0 and 1
  double kv_weight = 2.0;
  double prefix_weight = 3.0;
  double kv_overlap_score_weight = 1.0;                    ///< of blocks to prefill against blocks to decode
  double router_temperature = 0.0;                         ///< 0: the least cost; else a softmax over costs
  double cache_threshold = 0.5;                            ///< least share of a prompt that a prefix match must cover
  std::int64_t balance_abs_threshold = 32;                 ///< most requests more than the idlest replica has, or
  double balance_rel_threshold = 1.1;                      ///< most times as many
};

/// Chooses replicas. Told of every change so that a choice costs O(1) or O(log replicas), never a scan, except where the
/// policy's own rule scores every replica.
class Router {
 public:
  virtual ~Router() = default;
  [[nodiscard]] virtual ReplicaId choose(const Request& request, Time now) = 0;
  /// `outstanding` = requests routed to the replica and not finished; usage in blocks. Called after every change.
  virtual void changed(ReplicaId /*replica*/, std::int64_t /*outstanding*/, const SchedulerLoad& /*load*/, Time /*now*/) {}
  /// Routers that never look at loads spare the cluster the calls.
  [[nodiscard]] virtual bool wants_changes() const { return false; }
  /// False: it looks at `outstanding` only. Then `load` may be as of the start of a run of decode steps.
  [[nodiscard]] virtual bool watches_load() const { return wants_changes(); }
  /// The request's prompt is computed: its first token is out.
  virtual void first_token(const Request& /*request*/) {}
  /// The request's last token is out.
  virtual void finished(const Request& /*request*/) {}
};

}  // namespace ridgeline
