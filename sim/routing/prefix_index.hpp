// A router's own memory of which prompts it sent where.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/serving/kv_content.hpp"

namespace ridgeline {

/// Chained hashes of the full blocks of a prompt, at most `most` of them.
std::vector<std::uint64_t> prompt_blocks(const RequestSpec& spec, std::int64_t block_size, std::int64_t most);

/// Per replica, the prompt blocks routed to it, least recently routed forgotten first.
class PrefixIndex {
 public:
  /// At most `capacity` blocks a replica, each for `lifetime` after its last use.
  PrefixIndex(std::size_t replicas, std::size_t capacity, std::optional<Duration> lifetime = std::nullopt);

  /// Leading blocks of the prompt that each replica has seen. Costs O(replicas + blocks matched x replicas that have them).
  const std::vector<std::int64_t>& match(const std::vector<std::uint64_t>& blocks, Time now);
  void add(std::uint32_t replica, const std::vector<std::uint64_t>& blocks, Time now);
  [[nodiscard]] std::size_t size(std::uint32_t replica) const { return recent_[replica].size(); }

 private:
  struct Use {
    std::uint64_t block = 0;
    Time at;
  };
  struct Holder {
    std::uint32_t replica = 0;
    std::list<Use>::iterator use;
  };

  void forget_last(std::uint32_t replica);

  std::size_t capacity_;
  std::optional<Duration> lifetime_;
  std::vector<std::list<Use>> recent_;                              // per replica, latest first
  std::unordered_map<std::uint64_t, std::vector<Holder>> holders_;  // looked up, never iterated; replicas in order of arrival
  std::vector<std::int64_t> matched_;
};

}  // namespace ridgeline
