// The cache-aware policy of SGLang's gateway (sgl-router, antgroup mirror 9fec359a): while loads are balanced a request follows
// its longest matching prefix if that covers enough of the prompt, else it goes to the least loaded replica. Loads are
// requests in flight. The tree counts characters there and tokens here: the same shares if tokens are alike in length. The
// walk through the replicas' trees is the rule's own O(replicas).
#include <algorithm>
#include <memory>
#include <vector>

#include "sim/routing/builtin.hpp"
#include "sim/routing/scores.hpp"
#include "sim/serving/radix_tree.hpp"

namespace ridgeline {

bool is_imbalanced(std::int64_t least, std::int64_t most, const RouterConfig& limits) {
  return most - least > limits.balance_abs_threshold &&
         static_cast<double>(most) > limits.balance_rel_threshold * static_cast<double>(least);
}

namespace {

class SglangCacheAware final : public Router {
 public:
  explicit SglangCacheAware(const RouterSetup& setup) : config_(setup.config), outstanding_(setup.replicas) {
    for (std::size_t i = 0; i < setup.replicas; ++i) trees_.push_back(std::make_unique<RadixTree>(1));
  }

  ReplicaId choose(const Request& request, Time) override {
    const Content content = whole_content(request.spec);
    const std::int64_t length = request.spec.input.count();
    const auto [least, most] = std::minmax_element(outstanding_.begin(), outstanding_.end());
    auto chosen = static_cast<std::size_t>(least - outstanding_.begin());
    if (!is_imbalanced(*least, *most, config_)) {
      std::int64_t longest = 0;
      std::size_t holder = chosen;
      for (std::size_t i = 0; i < trees_.size(); ++i) {
        const std::int64_t matched = trees_[i]->match(content, length).tokens;
        if (matched > longest) longest = matched, holder = i;
      }
      if (static_cast<double>(longest) > config_.cache_threshold * static_cast<double>(length)) chosen = holder;
    }
    RadixTree& tree = *trees_[chosen];
    tree.insert(content, length);
    if (tree.cached_tokens() > most_tokens) tree.evict(tree.cached_tokens() - most_tokens);
    return ReplicaId{static_cast<std::uint32_t>(chosen)};
  }
  void changed(ReplicaId replica, std::int64_t outstanding, const SchedulerLoad&, Time) override {
    outstanding_[replica.value()] = outstanding;
  }
  [[nodiscard]] bool wants_changes() const override { return true; }
  [[nodiscard]] bool watches_load() const override { return false; }

 private:
  // max_tree_size 2^26 characters, of four a token; the gateway trims its trees now and then, this one at once.
  static constexpr std::int64_t most_tokens = std::int64_t{1} << 24;

  RouterConfig config_;
  std::vector<std::int64_t> outstanding_;
  std::vector<std::unique_ptr<RadixTree>> trees_;  // what was sent to each replica
};

}  // namespace

std::unique_ptr<Router> make_sglang_cache_aware(const RouterSetup& setup) { return std::make_unique<SglangCacheAware>(setup); }

}  // namespace ridgeline
