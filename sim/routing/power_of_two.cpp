// Mitzenmacher: The Power of Two Choices in Randomized Load Balancing (IEEE TPDS 2001).
#include <boost/random/uniform_int_distribution.hpp>

#include "sim/base/rng.hpp"
#include "sim/routing/builtin.hpp"

namespace ridgeline {
namespace {

class PowerOfTwo final : public Router {
 public:
  PowerOfTwo(std::size_t replicas, std::uint64_t seed) : stream_(seed, "router", "choice"), outstanding_(replicas) {}

  ReplicaId choose(const Request&, Time) override {
    const auto count = static_cast<std::uint32_t>(outstanding_.size());
    if (count == 1) return ReplicaId{0};
    // Two different replicas: the second is drawn among the others.
    const std::uint32_t first = draw(count);
    std::uint32_t second = draw(count - 1);
    if (second >= first) ++second;
    return ReplicaId{outstanding_[second] < outstanding_[first] ? second : first};
  }
  void changed(ReplicaId replica, std::int64_t outstanding, const SchedulerLoad&, Time) override {
    outstanding_[replica.value()] = outstanding;
  }
  [[nodiscard]] bool wants_changes() const override { return true; }
  [[nodiscard]] bool watches_load() const override { return false; }

 private:
  std::uint32_t draw(std::uint32_t count) {
    return boost::random::uniform_int_distribution<std::uint32_t>(0, count - 1)(stream_);
  }

  RandomStream stream_;
  std::vector<std::int64_t> outstanding_;
};

}  // namespace

std::unique_ptr<Router> make_power_of_two(const RouterSetup& setup) {
  return std::make_unique<PowerOfTwo>(setup.replicas, setup.seed);
}

}  // namespace ridgeline
