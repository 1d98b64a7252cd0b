#include "sim/serving/kv_paged_cache.hpp"

#include <algorithm>

#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

PagedKvCache::PagedKvCache(const EngineConfig& config, int steps_in_flight)
    : KvCache(config),
      caching_(config.enable_prefix_caching),
      drops_last_block_(config.speculation && config.speculation->method == "eagle"),
      max_model_len_(config.max_model_len),
      pool_(config.num_gpu_blocks - 1, config.prepend_unhashed_free_blocks) {
  std::vector<std::int64_t> windows = config.kv_groups;
  if (windows.empty()) windows.push_back(0);
  const std::int64_t in_flight = config.max_num_batched_tokens * steps_in_flight;
  for (const std::int64_t window : windows) {
    const std::int64_t most = std::min(window - 1 + in_flight, config.max_model_len);
    groups_.push_back({window, window > 0 ? blocks_for(most) + 1 : 0});
    auto set = std::find_if(sets_.begin(), sets_.end(), [&](const GroupSet& other) { return other.window == window; });
    if (set == sets_.end()) set = sets_.insert(sets_.end(), GroupSet{window, {}});
    set->groups.push_back(groups_.size() - 1);
  }
  std::stable_sort(sets_.begin(), sets_.end(),
                   [](const GroupSet& a, const GroupSet& b) { return a.window == 0 && b.window > 0; });
  found_.resize(groups_.size());
}

std::uint64_t PagedKvCache::key_of(std::uint64_t hash, std::size_t group) { return combine64(hash, group); }

std::int64_t PagedKvCache::out_of_window(const Group& group, std::int64_t tokens) const {
  return group.window == 0 ? 0 : std::max<std::int64_t>(0, tokens - group.window + 1) / block_size();
}

std::int64_t PagedKvCache::most_blocks(std::int64_t tokens) const {
  std::int64_t blocks = 0;
  for (const Group& group : groups_) {
    blocks += group.admission_cap > 0 ? std::min(blocks_for(tokens), group.admission_cap) : blocks_for(tokens);
  }
  return blocks;
}

// --- Look-up
// -----------------------------------------------------------------------------------------------------------

bool PagedKvCache::find_block(KvSequence& sequence, const GroupSet& set, std::int64_t index) {
  const std::uint64_t hash = sequence.hashes.at(index);
  for (const std::size_t group : set.groups) {
    const BlockId id = pool_.find(key_of(hash, group));
    if (id == KvBlockPool::null_block) return false;
    found_[group][static_cast<std::size_t>(index)] = id;
  }
  return true;
}

std::int64_t PagedKvCache::find_full(KvSequence& sequence, const GroupSet& set, std::int64_t most_tokens,
                                     bool drop_last) {
  const std::int64_t most = most_tokens / block_size();
  for (const std::size_t group : set.groups)
    found_[group].assign(static_cast<std::size_t>(most), KvBlockPool::null_block);
  std::int64_t blocks = 0;
  while (blocks < most && find_block(sequence, set, blocks)) ++blocks;
  if (drop_last && blocks > 0) --blocks;
  for (const std::size_t group : set.groups) found_[group].resize(static_cast<std::size_t>(blocks));
  return blocks * block_size();
}

std::int64_t PagedKvCache::find_windowed(KvSequence& sequence, const GroupSet& set, std::int64_t most_tokens,
                                         bool drop_last) {
  const std::int64_t most = most_tokens / block_size();
  const std::int64_t wanted = blocks_for(set.window - 1) + (drop_last ? 1 : 0);
  for (const std::size_t group : set.groups)
    found_[group].assign(static_cast<std::size_t>(most), KvBlockPool::null_block);
  // From the right: the first run of `wanted` cached blocks serves; a shorter one only from the sequence's start.
  std::int64_t run = 0;
  std::int64_t blocks = -1;
  for (std::int64_t index = most - 1; index >= 0 && blocks < 0; --index) {
    if (find_block(sequence, set, index)) {
      if (++run >= wanted) blocks = index + run;
    } else {
      for (const std::size_t group : set.groups)
        found_[group][static_cast<std::size_t>(index)] = KvBlockPool::null_block;
      run = 0;
    }
  }
  if (blocks < 0) blocks = run;
  if (drop_last && blocks > 0) --blocks;
  for (const std::size_t group : set.groups) found_[group].resize(static_cast<std::size_t>(blocks));
  return blocks * block_size();
}

// The longest prefix that every group can serve: each accepts the candidate or shortens it, until none does.
std::int64_t PagedKvCache::agree_on_prefix(KvSequence& sequence, std::int64_t most_tokens) {
  const bool one_pass = sets_.size() == 2 && sets_.front().window == 0;
  std::int64_t agreed = most_tokens;
  std::int64_t full_hit = -1;  // full attention is looked up once: any shorter prefix of its hit is a hit
  std::vector<bool> dropped(sets_.size(), false);
  while (true) {
    std::int64_t candidate = agreed;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const GroupSet& set = sets_[i];
      if (set.window == 0 && full_hit >= 0) {
        candidate = std::min(candidate, full_hit);
        continue;
      }
      const bool drop = drops_last_block_ && !dropped[i];
      const std::int64_t most = drop ? std::min(candidate + block_size(), most_tokens) : candidate;
      const std::int64_t hit =
          set.window == 0 ? find_full(sequence, set, most, drop) : find_windowed(sequence, set, most, drop);
      if (drop) dropped[i] = true;
      else if (hit < candidate) dropped.assign(sets_.size(), false);
      candidate = hit;
      if (set.window == 0) full_hit = hit;
    }
    if (candidate >= agreed) break;
    agreed = candidate;
    if (one_pass) break;
  }
  for (Table& found : found_) {
    const auto blocks = static_cast<std::size_t>(blocks_for(agreed));
    if (found.size() > blocks) found.resize(blocks);
  }
  return agreed;
}

std::int64_t PagedKvCache::find_prefix(KvSequence& sequence, std::int64_t known) {
  if (!caching_) return 0;
  // The last known token is always computed: its logits give the next one.
  const std::int64_t most = known - 1;
  if (sets_.size() > 1) return agree_on_prefix(sequence, most);
  const GroupSet& set = sets_.front();
  return set.window == 0 ? find_full(sequence, set, most, drops_last_block_)
                         : find_windowed(sequence, set, most, drops_last_block_);
}

// --- Allocation
// --------------------------------------------------------------------------------------------------------

// Blocks to take from the free queue so that `tokens` tokens have slots.
std::int64_t PagedKvCache::missing(const KvSequence& sequence, std::int64_t tokens, std::int64_t computed,
                                   bool capped) const {
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    std::int64_t required = blocks_for(tokens);
    if (capped && group.admission_cap > 0) required = std::min(required, group.admission_cap);
    if (sequence.admitted) {
      blocks += std::max<std::int64_t>(0, required - static_cast<std::int64_t>(sequence.tables[i].size()));
      continue;
    }
    const std::int64_t skipped = out_of_window(group, computed);
    const auto found = static_cast<std::int64_t>(found_[i].size());
    blocks += std::max<std::int64_t>(0, required - std::max(skipped, found));
    // A cached block that nobody references is still in the free queue: taking it costs one.
    for (std::int64_t k = skipped; k < found; ++k) {
      const BlockId id = found_[i][static_cast<std::size_t>(k)];
      if (id != KvBlockPool::null_block && !pool_.referenced(id)) ++blocks;
    }
  }
  return blocks;
}

void PagedKvCache::drop_out_of_window(KvSequence& sequence, std::int64_t processed) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Table& table = sequence.tables[i];
    scratch_.clear();
    const std::int64_t skipped =
        std::min(out_of_window(groups_[i], processed), static_cast<std::int64_t>(table.size()));
    for (std::int64_t k = skipped - 1; k >= 0; --k) {
      BlockId& id = table[static_cast<std::size_t>(k)];
      if (id == KvBlockPool::null_block) break;
      scratch_.push_back(id);
      id = KvBlockPool::null_block;
    }
    pool_.release(scratch_);
    sequence.held -= static_cast<std::int64_t>(scratch_.size());
  }
}

void PagedKvCache::adopt_prefix(KvSequence& sequence, std::int64_t computed) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Table& table = sequence.tables[i];
    table.assign(found_[i].begin(), found_[i].end());
    const auto skipped = static_cast<std::size_t>(out_of_window(groups_[i], computed));
    for (std::size_t k = 0; k < table.size(); ++k) {
      if (k < skipped) table[k] = KvBlockPool::null_block;
      if (table[k] == KvBlockPool::null_block) continue;
      pool_.touch(table[k]);
      ++sequence.held;
    }
    if (table.size() < skipped) table.resize(skipped, KvBlockPool::null_block);
  }
  sequence.admitted = true;
  sequence.committed = computed;
}

bool PagedKvCache::allocate(KvSequence& sequence, const SlotRequest& request) {
  sequence.tables.resize(groups_.size());
  if (!sequence.admitted && !caching_) {
    for (Table& found : found_) found.clear();
  }
  if (request.whole_must_fit) {
    const std::int64_t whole = std::min(request.known, max_model_len_);
    if (missing(sequence, whole, request.computed, true) + request.watermark > pool_.free_blocks()) return false;
  }
  const std::int64_t slots = std::min(request.computed + request.new_tokens + request.lookahead, max_model_len_);
  if (sequence.admitted) drop_out_of_window(sequence, request.processed);
  if (missing(sequence, slots, request.computed, false) + request.watermark > pool_.free_blocks()) return false;

  if (!sequence.admitted) adopt_prefix(sequence, request.computed);
  for (Table& table : sequence.tables) {
    while (static_cast<std::int64_t>(table.size()) < blocks_for(slots)) {
      if (pool_.head_has_content()) count_evicted_blocks(1);
      table.push_back(pool_.take());
      ++sequence.held;
    }
  }
  if (request.commits) commit(sequence, std::min(request.computed + request.new_tokens, request.known));
  return true;
}

void PagedKvCache::commit(KvSequence& sequence, std::int64_t tokens) {
  if (!caching_) return;
  const std::int64_t first = sequence.committed / block_size();
  const std::int64_t last = tokens / block_size();
  if (last <= first) return;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (std::int64_t k = first; k < last; ++k) {
      const BlockId id = sequence.tables[group][static_cast<std::size_t>(k)];
      if (id != KvBlockPool::null_block) pool_.set_content(id, key_of(sequence.hashes.at(k), group));
    }
  }
  sequence.committed = tokens;
}

void PagedKvCache::release(KvSequence& sequence, bool /*returns*/) {
  for (Table& table : sequence.tables) {
    scratch_.assign(table.rbegin(), table.rend());
    pool_.release(scratch_);
    table.clear();
  }
  sequence.admitted = false;
  sequence.held = sequence.committed = 0;
}

}  // namespace ridgeline
