// NVIDIA Dynamo's KV router (1704b126; selector.rs): the cost of a worker is what it still has to prefill, this prompt's uncached
// part included, plus the blocks it decodes with. Overlap is judged by the router's own history, kept two minutes, as with
// `--no-kv-events`. Costs every worker: O(replicas + blocks of the prompt) a choice, as the rule demands.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/routing/prefix_index.hpp"
#include "sim/routing/scores.hpp"

namespace ridgeline {

double dynamo_cost(const DynamoView& worker, const RouterConfig& config) {
  return config.kv_overlap_score_weight * static_cast<double>(worker.prefill_tokens) / static_cast<double>(config.block_size) +
         static_cast<double>(worker.decode_blocks);
}

namespace {

class DynamoKv final : public Router {
 public:
  explicit DynamoKv(const RouterSetup& setup)
      : config_(setup.config),
        index_(setup.replicas, no_limit, lifetime),
        workers_(setup.replicas),
        costs_(setup.replicas),
        stream_(setup.seed, "router", "choice") {}

  ReplicaId choose(const Request& request, Time now) override {
    Active active;
    const std::int64_t length = request.spec.input.count();
    active.blocks = prompt_blocks(request.spec, config_.block_size, length / config_.block_size);
    const std::vector<std::int64_t>& matched = index_.match(active.blocks, now);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const Worker& worker = workers_[i];
      std::int64_t shared = 0;  // blocks that requests under way there hold already
      while (shared < std::ssize(active.blocks) && worker.holders.contains(active.blocks[static_cast<std::size_t>(shared)])) ++shared;
      const std::int64_t uncached = length - matched[i] * config_.block_size;
      const std::int64_t blocks = ceil_divide(length, config_.block_size) - shared;
      costs_[i] = dynamo_cost({worker.prefill_tokens + uncached, worker.decode_blocks + blocks}, config_);
    }
    const std::uint32_t chosen = config_.router_temperature > 0 ? drawn() : least();
    active.uncached = length - matched[chosen] * config_.block_size;
    active.partial = length % config_.block_size != 0;
    index_.add(chosen, active.blocks, now);
    start(workers_[chosen], active);
    active.worker = chosen;
    active_.insert_or_assign(request.spec.row, std::move(active));
    return ReplicaId{chosen};
  }

  void first_token(const Request& request) override {
    Active& active = active_.at(request.spec.row);
    workers_[active.worker].prefill_tokens -= active.uncached;
    active.uncached = 0;
  }

  void finished(const Request& request) override {
    const auto found = active_.find(request.spec.row);
    Worker& worker = workers_[found->second.worker];
    worker.prefill_tokens -= found->second.uncached;
    worker.decode_blocks -= found->second.partial ? 1 : 0;
    for (const std::uint64_t block : found->second.blocks) {
      const auto holders = worker.holders.find(block);
      if (--holders->second > 0) continue;
      worker.holders.erase(holders);
      --worker.decode_blocks;
    }
    active_.erase(found);
  }

 private:
  static constexpr std::size_t no_limit = std::size_t{1} << 40;
  static constexpr Duration lifetime = Duration::milliseconds(120'000);

  struct Worker {
    std::int64_t prefill_tokens = 0;
    std::int64_t decode_blocks = 0;                          // a block that several requests share counts once
    std::unordered_map<std::uint64_t, std::int64_t> holders;  // requests under way by block; looked up, never iterated
  };
  struct Active {
    std::uint32_t worker = 0;
    std::int64_t uncached = 0;  // tokens to prefill; 0 when that is done
    bool partial = false;       // a last block that isn't full, and is shared with no one
    std::vector<std::uint64_t> blocks;
  };

  static void start(Worker& worker, const Active& active) {
    worker.prefill_tokens += active.uncached;
    worker.decode_blocks += active.partial ? 1 : 0;
    for (const std::uint64_t block : active.blocks) {
      if (worker.holders[block]++ == 0) ++worker.decode_blocks;
    }
  }

  // Ties go to the worker with the smaller index, then to the lower one.
  [[nodiscard]] std::uint32_t least() const {
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < costs_.size(); ++i) {
      if (costs_[i] < costs_[best] || (costs_[i] == costs_[best] && index_.size(i) < index_.size(best))) best = i;
    }
    return best;
  }

  // Softmax over costs, scaled by their spread.
  std::uint32_t drawn() {
    const auto [low, high] = std::minmax_element(costs_.begin(), costs_.end());
    const double spread = *high > *low ? *high - *low : 1.0;
    const double lowest = *low;
    double sum = 0.0;
    for (double& cost : costs_) sum += cost = std::exp(-(cost - lowest) / spread / config_.router_temperature);
    double left = stream_.uniform() * sum;
    std::uint32_t chosen = 0;
    while (chosen + 1 < costs_.size() && (left -= costs_[chosen]) > 0) ++chosen;
    return chosen;
  }

  RouterConfig config_;
  PrefixIndex index_;
  std::vector<Worker> workers_;
  std::vector<double> costs_;
  std::unordered_map<std::int64_t, Active> active_;  // by workload row; looked up, never iterated
  RandomStream stream_;
};

}  // namespace

std::unique_ptr<Router> make_dynamo_kv(const RouterSetup& setup) { return std::make_unique<DynamoKv>(setup); }

}  // namespace ridgeline
