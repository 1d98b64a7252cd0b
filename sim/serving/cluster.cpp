#include "sim/serving/cluster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ridgeline {

Cluster::Cluster(EventQueue& queue, RequestSource& source, ClientSetup client, std::vector<Observer*> observers)
    : queue_(queue), source_(source), client_(client), observers_(std::move(observers)) {}

void Cluster::add_replica(ReplicaSetup setup, std::unique_ptr<Scheduler> scheduler, std::shared_ptr<StepCost> cost) {
  if (setup.id.value() != replicas_.size()) throw InternalError("replica ids must count up from 0");
  ReplicaOwner& owner = *this;
  replicas_.push_back(
      std::make_unique<Replica>(std::move(setup), queue_, std::move(scheduler), std::move(cost), observers_, owner));
  outstanding_.push_back(0);
}

void Cluster::start() {
  if (router_->watches_load()) {
    for (const auto& replica : replicas_) replica->take_single_steps();
  }
  pull();
  wake_for_next(queue_.now());
}

void Cluster::pull() {
  next_ = source_.next();
  if (!next_) return;
  if (next_->arrival < last_arrival_) throw InternalError(fmt::format("arrivals run backwards at workload row {}", next_->row));
  last_arrival_ = next_->arrival;
}

void Cluster::wake_for_next(Time now) {
  if (!next_ || wake_pending_ || !may_send()) return;
  wake_pending_ = true;
  queue_.schedule(std::max(next_->arrival, now), Phase::arrive, *this);
}

void Cluster::wake(Time now, std::uint32_t) {
  wake_pending_ = false;
  while (next_ && next_->arrival <= now && may_send()) {
    Request& request = requests_.take(std::move(*next_));
    request.sent = now;
    pull();
    route(request, now);
  }
  wake_for_next(now);
}

void Cluster::route(Request& request, Time now) {
  for (Observer* observer : observers_) observer->arrived(request, now);
  const ReplicaId id = router_->choose(request);
  Replica& replica = *replicas_.at(id.value());
  request.replica = id.value();
  request.pool = replica.pool().value();
  ++outstanding_[id.value()];
  for (Observer* observer : observers_) observer->routed(request, now);
  replica.enqueue(request, now);
}

void Cluster::request_finished(Request& request, Time now) {
  --outstanding_[request.replica];
  requests_.give_back(request);
  wake_for_next(now);
}

void Cluster::replica_changed(ReplicaId replica) {
  if (router_->wants_changes()) router_->changed(replica, outstanding_[replica.value()], replicas_[replica.value()]->load());
}

void Cluster::check_drained() const {
  if (requests_.live() != 0 || next_) {
    throw InternalError(fmt::format("the run ended with {} requests unfinished", requests_.live() + (next_ ? 1 : 0)));
  }
}

}  // namespace ridgeline
