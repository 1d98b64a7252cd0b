#include "sim/routing/builtin.hpp"

namespace ridgeline {
namespace {

class RoundRobin final : public Router {
 public:
  explicit RoundRobin(std::size_t replicas) : replicas_(static_cast<std::uint32_t>(replicas)) {}
  ReplicaId choose(const Request&, Time) override {
    const ReplicaId chosen{next_};
    next_ = next_ + 1 == replicas_ ? 0 : next_ + 1;
    return chosen;
  }

 private:
  std::uint32_t replicas_;
  std::uint32_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_round_robin(const RouterSetup& setup) { return std::make_unique<RoundRobin>(setup.replicas); }

}  // namespace ridgeline
