// llm-d's router with its default scorers (llm-d-router ebab6879): queue, KV use and prefix affinity, weighted 2, 2, 3. A pod's
// metrics are as old as the last poll; prefixes are matched against what this router sent where, not against the engines.
// Scores every replica: O(replicas) a choice, as the rule demands.
#include <algorithm>
#include <vector>

#include <boost/random/uniform_int_distribution.hpp>

#include "sim/base/rng.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/routing/polled_loads.hpp"
#include "sim/routing/prefix_index.hpp"
#include "sim/routing/scores.hpp"

namespace ridgeline {

std::vector<double> llm_d_scores(const std::vector<LlmDView>& pods, const RouterConfig& weights) {
  const auto [least, most] =
      std::minmax_element(pods.begin(), pods.end(), [](const LlmDView& a, const LlmDView& b) { return a.queue < b.queue; });
  const std::int64_t low = least->queue, high = most->queue;
  std::vector<double> scores;
  for (const LlmDView& pod : pods) {
    const double queue = high == low ? 1.0 : static_cast<double>(high - pod.queue) / static_cast<double>(high - low);
    const double prefix = pod.blocks > 0 ? static_cast<double>(pod.matched) / static_cast<double>(pod.blocks) : 0.0;
    scores.push_back(weights.queue_weight * queue + weights.kv_weight * (1.0 - pod.kv_usage) + weights.prefix_weight * prefix);
  }
  return scores;
}

namespace {

class LlmD final : public Router {
 public:
  explicit LlmD(const RouterSetup& setup)
      : config_(setup.config),
        loads_(setup.replicas, setup.config.metrics_interval),
        index_(setup.replicas, entries_per_pod),
        pods_(setup.replicas),
        stream_(setup.seed, "router", "ties") {}

  ReplicaId choose(const Request& request, Time now) override {
    const std::vector<std::uint64_t> blocks = prompt_blocks(request.spec, config_.block_size, most_tokens / config_.block_size);
    const std::vector<std::int64_t>& matched = index_.match(blocks, now);
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const SchedulerLoad& load = loads_.at(i, now);
      const double used = static_cast<double>(load.total_blocks - load.free_blocks);
      pods_[i] = {load.waiting, load.total_blocks > 0 ? used / static_cast<double>(load.total_blocks) : 0.0, matched[i],
                  static_cast<std::int64_t>(blocks.size())};
    }
    const std::uint32_t chosen = best(llm_d_scores(pods_, config_));
    index_.add(chosen, blocks, now);
    return ReplicaId{chosen};
  }
  void changed(ReplicaId replica, std::int64_t, const SchedulerLoad& load, Time now) override {
    loads_.changed(replica.value(), load, now);
  }
  [[nodiscard]] bool wants_changes() const override { return true; }

 private:
  static constexpr std::int64_t most_tokens = 131'072;    // of a prompt that are matched
  static constexpr std::size_t entries_per_pod = 31'250;  // blocks remembered

  // The highest score; a tie is drawn.
  std::uint32_t best(const std::vector<double>& scores) {
    const double highest = *std::max_element(scores.begin(), scores.end());
    ties_.clear();
    for (std::uint32_t i = 0; i < scores.size(); ++i) {
      if (scores[i] == highest) ties_.push_back(i);
    }
    if (ties_.size() == 1) return ties_.front();
    return ties_[boost::random::uniform_int_distribution<std::size_t>(0, ties_.size() - 1)(stream_)];
  }

  RouterConfig config_;
  PolledLoads loads_;
  PrefixIndex index_;
  std::vector<LlmDView> pods_;
  std::vector<std::uint32_t> ties_;
  RandomStream stream_;
};

}  // namespace

std::unique_ptr<Router> make_llm_d(const RouterSetup& setup) { return std::make_unique<LlmD>(setup); }

}  // namespace ridgeline
