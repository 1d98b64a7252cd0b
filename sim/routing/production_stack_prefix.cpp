// Prefix-aware routing of vLLM's production-stack (routing_logic.py, prefix/hashtrie.py a6c01db0): a trie of prompt chunks
// remembers who got them, for ever; a request goes to one of those at the deepest match, drawn at random, whatever their load.
// Chunks are 128 characters there, 32 tokens here (four characters a token); a last chunk that isn't full is not matched.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <boost/random/uniform_int_distribution.hpp>

#include "sim/base/rng.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/routing/prefix_index.hpp"

namespace ridgeline {
namespace {

class ProductionStackPrefix final : public Router {
 public:
  explicit ProductionStackPrefix(const RouterSetup& setup) : stream_(setup.seed, "router", "choice") {
    for (std::uint32_t i = 0; i < setup.replicas; ++i) everyone_.push_back(i);
  }

  ReplicaId choose(const Request& request, Time) override {
    const std::vector<std::uint64_t> chunks =
        prompt_blocks(request.spec, tokens_per_chunk, request.spec.input.count() / tokens_per_chunk);
    const std::vector<std::uint32_t>* candidates = &everyone_;
    for (const std::uint64_t chunk : chunks) {
      const auto node = trie_.find(chunk);
      if (node == trie_.end()) break;
      candidates = &node->second;
    }
    const std::uint32_t chosen =
        (*candidates)[boost::random::uniform_int_distribution<std::size_t>(0, candidates->size() - 1)(stream_)];
    for (const std::uint64_t chunk : chunks) {
      std::vector<std::uint32_t>& holders = trie_[chunk];
      const auto place = std::lower_bound(holders.begin(), holders.end(), chosen);
      if (place == holders.end() || *place != chosen) holders.insert(place, chosen);
    }
    return ReplicaId{chosen};
  }

 private:
  static constexpr std::int64_t tokens_per_chunk = 32;

  std::vector<std::uint32_t> everyone_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> trie_;  // by chained hash; looked up, never iterated
  RandomStream stream_;
};

}  // namespace

std::unique_ptr<Router> make_production_stack_prefix(const RouterSetup& setup) {
  return std::make_unique<ProductionStackPrefix>(setup);
}

}  // namespace ridgeline
