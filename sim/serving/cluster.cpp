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
  wake_for_next(queue_.now());
}

// An answer can bring the next arrival forward.
void Cluster::wake_for_next(Time now) {
  if (!may_send()) return;
  const Time arrival = source_.next_arrival();
  if (arrival == Time::max()) return;
  const Time at = std::max(arrival, now);
  if (at >= wake_at_) return;
  if (wake_at_ != Time::max()) EventQueue::cancel(*this);
  wake_at_ = at;
  queue_.schedule(at, Phase::arrive, *this);
}

void Cluster::wake(Time now, std::uint32_t) {
  wake_at_ = Time::max();
  while (may_send() && source_.next_arrival() <= now) {
    RequestSpec spec = source_.next().value();
    if (spec.arrival < last_arrival_) throw InternalError(fmt::format("arrivals run backwards at workload row {}", spec.row));
    last_arrival_ = spec.arrival;
    Request& request = requests_.take(std::move(spec));
    request.sent = now;
    route(request, now);
  }
  wake_for_next(now);
}

void Cluster::route(Request& request, Time now) {
  for (Observer* observer : observers_) observer->arrived(request, now);
  const ReplicaId id = router_->choose(request, now);
  Replica& replica = *replicas_.at(id.value());
  request.replica = id.value();
  request.pool = replica.pool().value();
  ++outstanding_[id.value()];
  for (Observer* observer : observers_) observer->routed(request, now);
  replica.enqueue(request, now);
}

void Cluster::request_finished(Request& request, Time now) {
  --outstanding_[request.replica];
  router_->finished(request);
  source_.answered(request, now);
  requests_.give_back(request);
  wake_for_next(now);
}

void Cluster::replica_changed(ReplicaId replica) {
  if (!router_->wants_changes()) return;
  router_->changed(replica, outstanding_[replica.value()], replicas_[replica.value()]->load(), queue_.now());
}

void Cluster::check_drained() const {
  if (requests_.live() != 0) throw InternalError(fmt::format("the run ended with {} requests unfinished", requests_.live()));
  if (!source_.exhausted()) throw InternalError("the run ended before its workload did");
}

}  // namespace ridgeline
