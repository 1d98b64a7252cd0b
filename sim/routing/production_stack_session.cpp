// Session affinity of vLLM's production-stack (routing_logic.py a6c01db0): a session's requests go where its key falls on a
// hash ring; requests without a session go to the replica with the fewest requests in the last minute.
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/routing/min_tree.hpp"

namespace ridgeline {
namespace {

class ProductionStackSession final : public Router {
 public:
  explicit ProductionStackSession(const RouterSetup& setup) : by_rate_(setup.replicas) {
    for (std::uint32_t replica = 0; replica < setup.replicas; ++replica) {
      for (std::uint64_t point = 0; point < points_per_replica; ++point) {
        ring_.emplace_back(combine64(combine64(hash64("ring"), replica), point), replica);
      }
    }
    std::sort(ring_.begin(), ring_.end());
  }

  ReplicaId choose(const Request& request, Time now) override {
    while (!last_minute_.empty() && last_minute_.front().first + window <= now) {
      count(last_minute_.front().second, -1);
      last_minute_.pop_front();
    }
    const std::uint32_t chosen = request.spec.session != 0 ? on_ring(request.spec.session) : by_rate_.least();
    count(chosen, +1);
    last_minute_.emplace_back(now, chosen);
    return ReplicaId{chosen};
  }

 private:
  static constexpr std::uint64_t points_per_replica = 160;           // ketama's
  static constexpr Duration window = Duration::milliseconds(60'000);  // --request-stats-window

  [[nodiscard]] std::uint32_t on_ring(std::uint64_t session) const {
    const auto next = std::lower_bound(ring_.begin(), ring_.end(), std::pair(mix64(session), std::uint32_t{0}));
    return next == ring_.end() ? ring_.front().second : next->second;
  }
  void count(std::uint32_t replica, std::int64_t change) { by_rate_.update(replica, by_rate_.key(replica) + change); }

  std::vector<std::pair<std::uint64_t, std::uint32_t>> ring_;  // points in order, and whose they are
  MinTree by_rate_;                                            // requests of the last minute
  std::deque<std::pair<Time, std::uint32_t>> last_minute_;
};

}  // namespace

std::unique_ptr<Router> make_production_stack_session(const RouterSetup& setup) {
  return std::make_unique<ProductionStackSession>(setup);
}

}  // namespace ridgeline
