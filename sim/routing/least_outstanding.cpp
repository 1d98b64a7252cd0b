#include "sim/routing/builtin.hpp"
#include "sim/routing/min_tree.hpp"

namespace ridgeline {
namespace {

class LeastOutstanding final : public Router {
 public:
  explicit LeastOutstanding(std::size_t replicas) : tree_(replicas) {}
  ReplicaId choose(const Request&, Time) override { return ReplicaId{tree_.least()}; }
  void changed(ReplicaId replica, std::int64_t outstanding, const SchedulerLoad&, Time) override {
    tree_.update(replica.value(), outstanding);
  }
  [[nodiscard]] bool wants_changes() const override { return true; }
  [[nodiscard]] bool watches_load() const override { return false; }

 private:
  MinTree tree_;
};

}  // namespace

std::unique_ptr<Router> make_least_outstanding(const RouterSetup& setup) {
  return std::make_unique<LeastOutstanding>(setup.replicas);
}

}  // namespace ridgeline
