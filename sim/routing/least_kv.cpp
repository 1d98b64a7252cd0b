#include <algorithm>

#include "sim/routing/builtin.hpp"
#include "sim/routing/min_tree.hpp"

namespace ridgeline {
namespace {

class LeastKv final : public Router {
 public:
  explicit LeastKv(std::size_t replicas) : tree_(replicas) {}
  ReplicaId choose(const Request&, Time) override { return ReplicaId{tree_.least()}; }
  void changed(ReplicaId replica, std::int64_t outstanding, const SchedulerLoad& load, Time) override {
    // Usage in millionths above, outstanding requests below: queued requests hold no blocks yet, so ties must see them.
    const std::int64_t used = load.total_blocks - load.free_blocks;
    const std::int64_t usage = load.total_blocks > 0 ? used * 1'000'000 / load.total_blocks : 0;
    tree_.update(replica.value(), (usage << 32) + std::min<std::int64_t>(outstanding, 0xffffffff));
  }
  [[nodiscard]] bool wants_changes() const override { return true; }

 private:
  MinTree tree_;
};

}  // namespace

std::unique_ptr<Router> make_least_kv(const RouterSetup& setup) { return std::make_unique<LeastKv>(setup.replicas); }

}  // namespace ridgeline
