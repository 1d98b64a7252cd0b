#include <boost/random/uniform_int_distribution.hpp>

#include "sim/base/rng.hpp"
#include "sim/routing/builtin.hpp"

namespace ridgeline {
namespace {

class RandomRouter final : public Router {
 public:
  RandomRouter(std::size_t replicas, std::uint64_t seed)
      : stream_(seed, "router", "choice"), draw_(0, static_cast<std::uint32_t>(replicas) - 1) {}
  ReplicaId choose(const Request&, Time) override { return ReplicaId{draw_(stream_)}; }

 private:
  RandomStream stream_;
  boost::random::uniform_int_distribution<std::uint32_t> draw_;
};

}  // namespace

std::unique_ptr<Router> make_random(const RouterSetup& setup) { return std::make_unique<RandomRouter>(setup.replicas, setup.seed); }

}  // namespace ridgeline
