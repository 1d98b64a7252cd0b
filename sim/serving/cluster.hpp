// The cluster: clients send, the router chooses, replicas serve, observers hear of it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/serving/replica.hpp"
#include "sim/serving/request_pool.hpp"
#include "sim/serving/request_source.hpp"
#include "sim/serving/router.hpp"

namespace ridgeline {

/// How clients send: open loop, or holding requests back while `max_concurrency` are in flight (vLLM's `--max-concurrency`).
struct ClientSetup {
  std::optional<std::int64_t> max_concurrency;
};

class Cluster final : public Process, private ReplicaOwner {
 public:
  /// `queue`, `source` and `observers` must outlive the cluster.
  Cluster(EventQueue& queue, RequestSource& source, ClientSetup client, std::vector<Observer*> observers);

  /// Replicas come in pool order; their ids must count up from 0.
  void add_replica(ReplicaSetup setup, std::unique_ptr<Scheduler> scheduler, std::shared_ptr<StepCost> cost);
  void set_router(std::unique_ptr<Router> router) { router_ = std::move(router); }

  /// Schedules the first arrival. Then run the queue until it is empty.
  void start();

  /// Throws InternalError when a request is still inside: everything that enters must leave.
  void check_drained() const;

  void wake(Time now, std::uint32_t token) override;
  [[nodiscard]] std::string_view name() const override { return "client"; }

 private:
  void wake_for_next(Time now);
  void route(Request& request, Time now);
  [[nodiscard]] bool may_send() const {
    return !client_.max_concurrency || static_cast<std::int64_t>(requests_.live()) < *client_.max_concurrency;
  }
  void request_started_output(Request& request) override { router_->first_token(request); }
  void request_finished(Request& request, Time now) override;
  void replica_changed(ReplicaId replica) override;

  EventQueue& queue_;
  RequestSource& source_;
  ClientSetup client_;
  std::vector<Observer*> observers_;
  std::unique_ptr<Router> router_;
  RequestPool requests_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::int64_t> outstanding_;  // per replica
  Time last_arrival_;
  Time wake_at_ = Time::max();             // the wake-up under way, if any
};

}  // namespace ridgeline
