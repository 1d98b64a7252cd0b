#include "sim/scheduling/sglang_queue.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <map>
#include <utility>

namespace ridgeline {

namespace {

// schedule_policy.py: above this many waiting requests lpm would cost too much and SGLang takes fcfs.
constexpr std::size_t longest_queue_for_prefix_match = 128;
// IN_BATCH_PREFIX_CACHING_{CHECK,DEPRIORITIZE}_THRESHOLD, tokens.
constexpr std::int64_t short_cached_prefix = 32;
constexpr std::int64_t long_shared_prefix = 32;

/// The part of a radix tree that waiting requests end in, as a tree of its own.
class RequestsByNode {
 public:
  explicit RequestsByNode(RadixTree::Node* root) : root_(root) {}

  void add(RadixTree::Node* node, SglangSequence* sequence) {
    branches_[node].requests.push_back(sequence);
    for (; node != root_; node = RadixTree::parent(node)) {
      ++branches_[node].weight;
      Branch& above = branches_[RadixTree::parent(node)];
      if (std::find(above.children.begin(), above.children.end(), node) == above.children.end()) above.children.push_back(node);
    }
  }

  /// Heaviest child first, then by age; a node's own requests come after those below it.
  void collect(RadixTree::Node* node, std::vector<SglangSequence*>& queue) {
    Branch& branch = branches_[node];
    std::sort(branch.children.begin(), branch.children.end(), [&](RadixTree::Node* a, RadixTree::Node* b) {
      return std::pair(-branches_[a].weight, RadixTree::place_among_siblings(a)) <
             std::pair(-branches_[b].weight, RadixTree::place_among_siblings(b));
    });
    for (RadixTree::Node* child : branch.children) collect(child, queue);
    queue.insert(queue.end(), branch.requests.begin(), branch.requests.end());
  }

 private:
  struct Branch {
    std::int64_t weight = 0;  // requests at and below the node
    std::vector<SglangSequence*> requests;
    std::vector<RadixTree::Node*> children;
  };
  RadixTree::Node* root_;
  std::map<RadixTree::Node*, Branch> branches_;  // only looked up, never walked: addresses decide nothing
};

}  // namespace

SglangQueuePolicy::SglangQueuePolicy(const std::string& name, bool has_cache, RandomStream random)
    : kind_(kind_of(name, has_cache)), random_(random) {}

SglangQueuePolicy::Kind SglangQueuePolicy::kind_of(const std::string& name, bool has_cache) {
  if (name == "fcfs") return Kind::fcfs;
  if (name == "lpm") return has_cache ? Kind::longest_prefix_match : Kind::fcfs;
  if (name == "dfs-weight") return has_cache ? Kind::depth_first : Kind::fcfs;
  if (name == "lof") return Kind::longest_output_first;
  if (name == "random") return Kind::random;
  throw ConfigError({{}, "schedule_policy",
                     "unknown policy `" + name + "`" + suggestion(name, {"fcfs", "lpm", "dfs-weight", "lof", "random"})});
}

void SglangQueuePolicy::sort(std::vector<SglangSequence*>& queue, RadixTree& tree) {
  switch (kind_) {
    case Kind::fcfs:
      break;
    case Kind::longest_prefix_match:
      if (queue.size() <= longest_queue_for_prefix_match) sort_by_prefix(queue, tree);
      break;
    case Kind::depth_first:
      sort_depth_first(queue, tree);
      break;
    case Kind::longest_output_first:
      std::stable_sort(queue.begin(), queue.end(),
                       [](const SglangSequence* a, const SglangSequence* b) { return a->max_tokens > b->max_tokens; });
      break;
    case Kind::random:
      for (std::size_t left = queue.size(); left > 1; --left) {
        boost::random::uniform_int_distribution<std::size_t> pick(0, left - 1);
        std::swap(queue[left - 1], queue[pick(random_)]);
      }
      break;
  }
}

void SglangQueuePolicy::sort_by_prefix(std::vector<SglangSequence*>& queue, RadixTree& tree) {
  struct Ranked {
    SglangSequence* sequence = nullptr;
    bool later = false;  // an earlier one in the queue will bring most of its prefix into the cache
    std::int64_t cached = 0;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(queue.size());
  queued_.clear();
  for (SglangSequence* sequence : queue) {
    Ranked entry{sequence, false, std::min(tree.match(sequence->content, sequence->known()).tokens, sequence->known() - 1)};
    if (entry.cached <= short_cached_prefix) {
      entry.later = queued_.match(sequence->content, sequence->known()).tokens >= long_shared_prefix;
      if (!entry.later) queued_.insert(sequence->content, sequence->known());
    }
    ranked.push_back(entry);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.later != b.later ? b.later : !a.later && a.cached > b.cached;
  });
  for (std::size_t i = 0; i < queue.size(); ++i) queue[i] = ranked[i].sequence;
}

void SglangQueuePolicy::sort_depth_first(std::vector<SglangSequence*>& queue, RadixTree& tree) {
  // All look-ups first: a later one may split the node in which an earlier one ended.
  std::vector<RadixTree::Node*> nodes;
  nodes.reserve(queue.size());
  for (SglangSequence* sequence : queue) nodes.push_back(tree.match(sequence->content, sequence->known()).node);
  RequestsByNode requests(tree.root());
  for (std::size_t i = 0; i < queue.size(); ++i) requests.add(nodes[i], queue[i]);
  queue.clear();
  requests.collect(tree.root(), queue);
}

}  // namespace ridgeline
