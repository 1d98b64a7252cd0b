#include "sim/serving/kv_run_cache.hpp"

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

RunKvCache::RunKvCache(const EngineConfig& config)
    : KvCache(config),
      caching_(config.enable_prefix_caching),
      prepend_unhashed_(config.prepend_unhashed_free_blocks),
      drops_last_block_(config.speculation && config.speculation->method == "eagle"),
      max_model_len_(config.max_model_len),
      free_(usable_blocks()),
      front_(usable_blocks()),
      runs_(1) {}

// --- Runs
// --------------------------------------------------------------------------------------------------------------

RunKvCache::RunId RunKvCache::new_run(const Run& run) {
  if (spare_.empty()) {
    runs_.push_back(run);
    return static_cast<RunId>(runs_.size() - 1);
  }
  const RunId id = spare_.back();
  spare_.pop_back();
  runs_[id] = run;
  return id;
}

void RunKvCache::drop(RunId id) {
  if (runs_[id].holds == Holds::named) forget(id);
  spare_.push_back(id);
}

// Cuts a run in two; returns the rear part, which has the blocks from `at` on. Who references the run follows `rest`.
RunKvCache::RunId RunKvCache::split(RunId id, std::int64_t at) {
  const RunId rear = new_run(runs_[id]);
  Run& front = runs_[id];
  runs_[rear].begin = front.end = at;
  front.rest = rear;
  // Of one age: between the two stands no other.
  runs_[rear].older = id;
  front.younger = rear;
  const RunId younger = runs_[rear].younger;
  runs_[younger != 0 ? younger : index_.find(front.key)].older = rear;
  if (front.references == 0) enqueue(rear, id);
  return rear;
}

// --- The free queue
// ----------------------------------------------------------------------------------------------------

void RunKvCache::enqueue(RunId id, RunId before) {
  const RunId previous = runs_[before].previous;
  runs_[id].previous = previous;
  runs_[id].next = before;
  runs_[previous].next = id;
  runs_[before].previous = id;
}

void RunKvCache::unlink(RunId id) {
  const Run& gone = runs_[id];
  runs_[gone.previous].next = gone.next;
  runs_[gone.next].previous = gone.previous;
}

void RunKvCache::free_unnamed(std::int64_t blocks, Holds holds) {
  if (blocks == 0) return;
  free_ += blocks;
  RunId last = runs_[0].previous;
  if (last == 0 || runs_[last].holds != holds) enqueue(last = new_run({.holds = holds}), 0);
  runs_[last].end += blocks;
}

void RunKvCache::free_named(RunId id) {
  const Run& run = runs_[id];
  free_ += run.blocks();
  const RunId last = runs_[0].previous;
  if (last != 0 && last == run.younger && runs_[last].begin == run.end) {  // cut apart earlier
    runs_[last].begin = run.begin;
    drop(id);
    return;
  }
  enqueue(id, 0);
}

void RunKvCache::take(std::int64_t blocks) {
  free_ -= blocks;
  if (free_ < 0) throw InternalError("no free KV block is left");
  const std::int64_t plain = std::min(blocks, front_);
  front_ -= plain;
  blocks -= plain;
  while (blocks > 0) {
    const RunId first = runs_[0].next;
    Run& run = runs_[first];
    const std::int64_t taken = std::min(blocks, run.blocks());
    blocks -= taken;
    if (run.holds != Holds::nothing) count_evicted_blocks(taken);
    if (run.holds == Holds::named) ++version_;
    run.end -= taken;
    if (run.blocks() > 0) break;
    unlink(first);
    drop(first);
  }
}

// --- Content
// -----------------------------------------------------------------------------------------------------------

// Others can find the run's blocks from now on.
void RunKvCache::name(RunId id) {
  Run& run = runs_[id];
  run.younger = 0;
  const RunId oldest = index_.insert(run.key, id);
  run.older = runs_[oldest].older;
  if (oldest != id) runs_[run.older].younger = id;
  runs_[oldest].older = id;
}

// The run's blocks have been overwritten.
void RunKvCache::forget(RunId id) {
  const Run& gone = runs_[id];
  const RunId oldest = index_.replace(gone.key, id, gone.younger);
  if (oldest != id) runs_[gone.older].younger = gone.younger;
  const RunId next = gone.younger != 0 ? gone.younger : oldest;
  runs_[next].older = gone.older;
}

std::int64_t RunKvCache::most_shared(const KvSequence& sequence) const {
  return sequence.returned ? BlockHashes::everything : sequence.hashes.shareable_tokens() / block_size();
}

// Lengthens the sequence's last run in place if nobody else references it and no younger block would be overtaken.
bool RunKvCache::extend_last(KvSequence& sequence, std::uint64_t key, std::int64_t begin, std::int64_t end) {
  if (sequence.shared.empty()) return false;
  KvHold& hold = sequence.shared.back();
  RunId last = hold.run;
  for (std::int64_t left = hold.blocks - runs_[last].blocks(); left > 0; left -= runs_[last].blocks())
    last = runs_[last].rest;
  Run& run = runs_[last];
  if (run.key != key || run.end != begin || run.references > 1 || run.younger != 0) return false;
  run.end = end;
  hold.blocks += end - begin;
  return true;
}

// Gives the sequence's blocks before `last` identities, as far as they have none; some have none.
void RunKvCache::identify(KvSequence& sequence, std::int64_t last) {
  ++version_;
  std::int64_t block = sequence.shared_blocks;
  sequence.shared_blocks = last;
  for (std::size_t number = sequence.spans.holding(block); block < last; ++number) {
    const BlockSpan& span = sequence.spans.at(number);
    const std::int64_t begin = block - span.first;
    block = std::min(last, span.end);
    const std::int64_t end = block - span.first;
    if (begin > 0 && extend_last(sequence, span.key, begin, end)) continue;
    const RunId id = new_run({.key = span.key, .begin = begin, .end = end, .references = 1, .holds = Holds::named});
    name(id);
    sequence.shared.push_back({id, end - begin});
  }
}

void RunKvCache::commit(KvSequence& sequence, std::int64_t tokens) {
  if (!caching_ || tokens <= sequence.committed) return;
  const std::int64_t last = std::min(tokens / block_size(), most_shared(sequence));
  if (last > sequence.shared_blocks) identify(sequence, last);
  sequence.committed = tokens;
}

// Appends to `found_` at most `most` leading blocks, of each content the oldest.
void RunKvCache::find(KvSequence& sequence, std::int64_t most) {
  std::size_t number = 0;
  for (std::int64_t block = 0; block < most;) {
    const BlockSpan& span = sequence.spans.at(number);
    const std::int64_t begin = block - span.first;
    std::int64_t end = std::min(most, span.end) - span.first;
    RunId id = index_.find(span.key);
    for (; id != 0 && (begin < runs_[id].begin || begin >= runs_[id].end); id = runs_[id].younger) {
      if (begin < runs_[id].begin) end = std::min(end, runs_[id].begin);  // from there on, the older one
    }
    if (id == 0) break;
    end = std::min(end, runs_[id].end);
    found_.push_back({id, begin, end});
    block = span.first + end;
    if (block == span.end) ++number;
  }
}

std::int64_t RunKvCache::find_prefix(KvSequence& sequence, std::int64_t known) {
  if (!caching_) return 0;
  if (found_for_ != sequence.spans.row() || found_known_ != known || found_version_ != version_) {
    // The last known token is always computed: its logits give the next one.
    const std::int64_t most = std::min((known - 1) / block_size(), most_shared(sequence));
    found_.clear();
    if (most > 0) find(sequence, most);
    if (drops_last_block_ && !found_.empty() && --found_.back().end == found_.back().begin) found_.pop_back();
    found_blocks_ = found_unreferenced_ = 0;
    for (const Find& found : found_) {
      found_blocks_ += found.blocks();
      if (runs_[found.run].references == 0) found_unreferenced_ += found.blocks();
    }
    found_for_ = sequence.spans.row();
    found_known_ = known;
    found_version_ = version_;
  }
  return found_blocks_ * block_size();
}

// --- Allocation
// --------------------------------------------------------------------------------------------------------

// References the blocks of the prefix just found; those that nobody referenced leave the free queue.
void RunKvCache::adopt_found(KvSequence& sequence) {
  for (const Find& found : found_) {
    RunId id = found.run;
    while (runs_[id].end <= found.begin) id = runs_[id].rest;  // cut for an earlier part of the prefix
    if (runs_[id].begin < found.begin) id = split(id, found.begin);
    if (found.end < runs_[id].end) split(id, found.end);
    if (runs_[id].references++ == 0) {
      unlink(id);
      free_ -= found.blocks();
    }
    sequence.shared.push_back({id, found.blocks()});
  }
  sequence.shared_blocks = found_blocks_;
  ++version_;
}

bool RunKvCache::allocate(KvSequence& sequence, const SlotRequest& request) {
  // A cached block that nobody references is still in the free queue: taking it costs one.
  const std::int64_t revived = sequence.admitted || !caching_ ? 0 : found_unreferenced_;
  const std::int64_t present = sequence.admitted ? sequence.held : request.computed / block_size();
  if (request.whole_must_fit) {
    const std::int64_t whole = blocks_for(std::min(request.known, max_model_len_));
    if (std::max<std::int64_t>(0, whole - present) + revived + request.watermark > free_) return false;
  }
  const std::int64_t slots = std::min(request.computed + request.new_tokens + request.lookahead, max_model_len_);
  const std::int64_t missing = std::max<std::int64_t>(0, blocks_for(slots) - present);
  if (missing + revived + request.watermark > free_) return false;

  if (!sequence.admitted) {
    if (present > 0) adopt_found(sequence);
    sequence.admitted = true;
    sequence.held = present;
    sequence.committed = request.computed;
  }
  if (missing > 0) take(missing);
  sequence.held += missing;
  if (request.commits) commit(sequence, std::min(request.computed + request.new_tokens, request.known));
  return true;
}

void RunKvCache::release(KvSequence& sequence, bool returns) {
  const std::int64_t with_content = caching_ ? sequence.committed / block_size() : 0;
  if (returns && caching_ && !sequence.returned) {
    sequence.returned = true;
    if (with_content > sequence.shared_blocks) identify(sequence, with_content);
  }
  // Tail first: blocks without content, then content that nobody can name, then shared content.
  const std::int64_t empty = sequence.held - with_content;
  if (prepend_unhashed_) {
    front_ += empty;
    free_ += empty;
  } else {
    free_unnamed(empty, Holds::nothing);
  }
  free_unnamed(with_content - sequence.shared_blocks, Holds::unnamed);
  if (!sequence.shared.empty()) ++version_;
  for (; !sequence.shared.empty(); sequence.shared.pop_back()) {
    const KvHold& hold = sequence.shared.back();
    scratch_.clear();
    RunId id = hold.run;
    for (std::int64_t left = hold.blocks; left > 0; id = runs_[id].rest) {
      scratch_.push_back(id);
      left -= runs_[id].blocks();
    }
    for (auto run = scratch_.rbegin(); run != scratch_.rend(); ++run) {
      if (--runs_[*run].references == 0) free_named(*run);
    }
  }
  sequence.shared_blocks = 0;
  sequence.admitted = false;
  sequence.held = sequence.committed = 0;
}

}  // namespace ridgeline
