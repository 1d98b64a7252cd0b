#include "sim/scheduling/tensorrt_llm.hpp"

#include <algorithm>
#include <set>

#include "sim/scheduling/sequence_engine.hpp"
#include "sim/scheduling/tensorrt_llm_blocks.hpp"

namespace ridgeline {

namespace {

enum class CapacityPolicy { guaranteed_no_evict, max_utilization, static_batch };
enum class ChunkPolicy { fcfs, equal_progress };

CapacityPolicy capacity_policy(const std::string& name) {
  if (name == "guaranteed_no_evict") return CapacityPolicy::guaranteed_no_evict;
  if (name == "max_utilization") return CapacityPolicy::max_utilization;
  if (name == "static_batch") return CapacityPolicy::static_batch;
  throw ConfigError({{}, "capacity_policy", "unknown policy `" + name + "`" +
                                                suggestion(name, {"guaranteed_no_evict", "max_utilization", "static_batch"})});
}

ChunkPolicy chunk_policy(const std::string& name) {
  if (name == "fcfs") return ChunkPolicy::fcfs;
  if (name == "equal_progress") return ChunkPolicy::equal_progress;
  throw ConfigError({{}, "chunk_policy", "unknown policy `" + name + "`" + suggestion(name, {"fcfs", "equal_progress"})});
}

/// A prompt (with outputs kept from before a pause) on its way into the batch.
struct Context {
  Sequence* sequence = nullptr;
  std::int64_t tokens = 0;  ///< to be computed in this step
};

class TensorrtLlm final : public SequenceEngine {
 public:
  explicit TensorrtLlm(const EngineConfig& config)
      : SequenceEngine(config),
        capacity_policy_(capacity_policy(config.capacity_policy)),
        chunk_policy_(chunk_policy(config.chunk_policy)),
        blocks_(config) {
    decodes_lead_ = true;
    if (config.enable_chunked_prefill && config.chunk_unit > config.max_num_batched_tokens) {
      throw ConfigError({{}, "chunk_unit", "a unit of " + std::to_string(config.chunk_unit) +
                                               " tokens never fits max_num_batched_tokens " +
                                               std::to_string(config.max_num_batched_tokens)});
    }
  }

  void enqueue(Request& request, Time now) override;
  void form_step(Time now, StepPlan& plan, SchedulerListener& listener) override;

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(contexts_.size()) - started_contexts_; }
  void prompt_done(Sequence& sequence) override;
  void release(Sequence& sequence) override;
  [[nodiscard]] bool is_steady() const override {
    return contexts_.empty() && stalled_.empty() && decodes_.size() <= config_.max_num_batched_tokens;
  }
  void take_steady_step() override {
    blocks_.take(decodes_.blocks_due());
    free_blocks_ = blocks_.free();
    promised_blocks_ -= decodes_.blocks_due();
  }

 private:
  using InOrder = std::set<Sequence*, EarlierSequence>;

  [[nodiscard]] static bool started(const Sequence& sequence) { return sequence.decoding || sequence.computed > 0; }
  [[nodiscard]] static TrtSequence& trt(Sequence& sequence) { return static_cast<TrtSequence&>(sequence); }
  /// Tokens of a context that are neither computed nor cached.
  [[nodiscard]] std::int64_t uncomputed(Sequence& sequence) {
    return sequence.known() - (started(sequence) ? sequence.computed : blocks_.cached(trt(sequence)));
  }
  [[nodiscard]] std::int64_t full_blocks(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t held_blocks(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t blocks_for_one_step(const Sequence& sequence) const;

  void schedule_step(StepPlan& plan, SchedulerListener& listener);

  // Capacity scheduler: fills contexts_in_step_; generations run unless they are paused.
  void pick_without_eviction();
  void pick_for_utilization(SchedulerListener& listener);
  void pick_for_utilization_one_by_one(SchedulerListener& listener);
  [[nodiscard]] std::vector<Sequence*> active_in_order() const;
  void pause(Sequence& sequence, SchedulerListener& listener);

  // Micro-batch scheduler.
  void stall_generations_over_budget();
  [[nodiscard]] std::int64_t budget_for_contexts() const { return config_.max_num_batched_tokens - decodes_.size(); }
  void keep_whole_contexts();
  void split_contexts();
  void split_in_order(std::int64_t budget);
  void split_equally(std::int64_t budget);
  void start_contexts(StepPlan& plan, SchedulerListener& listener);

  CapacityPolicy capacity_policy_;
  ChunkPolicy chunk_policy_;
  SequencePool<TrtSequence> sequences_;
  TrtBlocks blocks_;
  std::int64_t next_order_ = 0;
  InOrder contexts_;      // prompts not finished: waiting, paused, or partly computed
  InOrder generations_;   // decoding, or stalled for a step
  std::int64_t started_contexts_ = 0;
  std::int64_t promised_blocks_ = 0;      // what the generations will still take if they reach max_tokens
  std::vector<Context> contexts_in_step_;
  std::vector<Sequence*> stalled_;        // generations that sit out the step in flight
};

void TensorrtLlm::enqueue(Request& request, Time /*now*/) {
  const RequestSpec& spec = request.spec;
  const std::int64_t longest = spec.input.count() + spec.max_tokens.count();
  if (config_.max_model_len > 0 && longest > config_.max_model_len) {
    refuse(spec, "prompt and max_tokens have " + std::to_string(longest) + " tokens, more than max_model_len " +
                     std::to_string(config_.max_model_len));
  }
  if (blocks_of(longest) > total_blocks_) {
    refuse(spec, "prompt and max_tokens need " + std::to_string(blocks_of(longest)) + " KV blocks of " +
                     std::to_string(total_blocks_));
  }
  if (!config_.enable_chunked_prefill && spec.input.count() > config_.max_num_batched_tokens) {
    refuse(spec, "its prompt exceeds max_num_batched_tokens, and chunked context is off");
  }
  TrtSequence& sequence = sequences_.take(request);
  sequence.order = next_order_++;
  blocks_.start(sequence);
  contexts_.insert(&sequence);
}

void TensorrtLlm::form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) {
  for (Sequence* sequence : stalled_) decodes_.join(*sequence);
  stalled_.clear();
  schedule_step(plan, listener);
  // The last running request may have been paused for its own sake: then the queue can move.
  if (plan.batch.empty() && !contexts_.empty()) schedule_step(plan, listener);
}

void TensorrtLlm::schedule_step(StepPlan& plan, SchedulerListener& listener) {
  contexts_in_step_.clear();
  blocks_.begin_step();
  std::int64_t started_left = started_contexts_;
  for (auto next = contexts_.begin(); started_left > 0; ++next) {
    if (started(**next)) --started_left, blocks_.will_produce(trt(**next));
  }
  if (capacity_policy_ == CapacityPolicy::max_utilization) {
    pick_for_utilization(listener);
  } else {
    pick_without_eviction();
  }
  stall_generations_over_budget();
  if (config_.enable_chunked_prefill) {
    split_contexts();
  } else {
    keep_whole_contexts();
  }
  start_contexts(plan, listener);
  if (!decodes_.empty()) {
    take_steady_step();
    schedule_decodes(plan);
  }
  free_blocks_ = blocks_.free();
}

std::int64_t TensorrtLlm::full_blocks(const Sequence& sequence) const {
  return blocks_of(sequence.input + sequence.max_tokens);
}

std::int64_t TensorrtLlm::held_blocks(const Sequence& sequence) const {
  if (sequence.decoding) return blocks_of(decodes_.computed(sequence));
  return sequence.computed > 0 ? blocks_of(sequence.known()) : 0;  // a context takes its whole prompt at the first chunk
}

std::int64_t TensorrtLlm::blocks_for_one_step(const Sequence& sequence) const {
  if (sequence.decoding) return decodes_.block_due(sequence) ? 1 : 0;
  return sequence.computed > 0 ? 0 : blocks_of(sequence.known());
}

void TensorrtLlm::pick_without_eviction() {
  if (capacity_policy_ == CapacityPolicy::static_batch && !decodes_.empty()) return;
  std::int64_t available = free_blocks_ - promised_blocks_;
  std::int64_t places = config_.max_num_seqs - decodes_.size();
  for (Sequence* sequence : contexts_) {
    const std::int64_t needed = full_blocks(*sequence) - held_blocks(*sequence);
    if (places == 0) break;
    if (!started(*sequence) && blocks_.worth_waiting(trt(*sequence))) continue;
    if (needed > available) break;
    available -= needed;
    --places;
    contexts_in_step_.push_back({sequence, 0});
  }
}

void TensorrtLlm::pick_for_utilization(SchedulerListener& listener) {
  // In the steady state everything that has started comes before everything that hasn't, and has its block: what is left is
  // to admit from the front of the queue.
  const bool in_queue_order = started_contexts_ == 0 && (contexts_.empty() || generations_.empty() ||
                                                         EarlierSequence{}(*generations_.rbegin(), *contexts_.begin()));
  if (!in_queue_order || decodes_.blocks_due() > free_blocks_) {
    pick_for_utilization_one_by_one(listener);
    return;
  }
  std::int64_t available = free_blocks_ - decodes_.blocks_due();
  std::int64_t places = config_.max_num_seqs - decodes_.size();
  for (Sequence* sequence : contexts_) {
    if (places == 0) break;
    if (blocks_.worth_waiting(trt(*sequence))) continue;
    const std::int64_t needed = blocks_for_one_step(*sequence);
    if (needed > available) break;
    available -= needed;
    --places;
    contexts_in_step_.push_back({sequence, 0});
  }
}

std::vector<Sequence*> TensorrtLlm::active_in_order() const {
  std::vector<Sequence*> active(generations_.begin(), generations_.end());
  std::int64_t started_left = started_contexts_;
  std::int64_t fresh_left = config_.max_num_seqs + 1;  // no more of them can start, however long the queue is
  for (auto next = contexts_.begin(); next != contexts_.end() && (started_left > 0 || fresh_left > 0); ++next) {
    --(started(**next) ? started_left : fresh_left);
    active.push_back(*next);
  }
  std::sort(active.begin(), active.end(), EarlierSequence{});
  return active;
}

void TensorrtLlm::pick_for_utilization_one_by_one(SchedulerListener& listener) {
  std::vector<Sequence*> active = active_in_order();
  std::int64_t available = free_blocks_;
  std::int64_t places = config_.max_num_seqs;
  std::size_t end = active.size();
  std::size_t next = 0;
  while (next < end) {
    Sequence& sequence = *active[next];
    if (!started(sequence) && blocks_.worth_waiting(trt(sequence))) {
      ++next;
      continue;
    }
    const std::int64_t needed = blocks_for_one_step(sequence);
    if (places > 0 && needed <= available) {
      available -= needed;
      --places;
      if (!sequence.decoding) contexts_in_step_.push_back({&sequence, 0});
      ++next;
      continue;
    }
    // Pause whoever started last, at or after this one; the walk now ends before it.
    std::size_t last = end;
    while (last > next && !started(*active[last - 1])) --last;
    if (last == next) break;
    end = last - 1;
    const std::int64_t before = blocks_.free();
    pause(*active[end], listener);
    available += blocks_.free() - before;  // blocks that others share stay taken
  }
}

void TensorrtLlm::pause(Sequence& sequence, SchedulerListener& listener) {
  const std::int64_t held = held_blocks(sequence);
  if (sequence.decoding) {
    promised_blocks_ -= full_blocks(sequence) - held;
    generations_.erase(&sequence);
    contexts_.insert(&sequence);
  } else {
    --started_contexts_;
  }
  const std::int64_t computed = sequence.decoding ? decodes_.computed(sequence) : 0;
  blocks_.release(trt(sequence), computed, held);
  free_blocks_ = blocks_.free();
  preempt(sequence, listener);
}

void TensorrtLlm::stall_generations_over_budget() {
  if (decodes_.size() <= config_.max_num_batched_tokens) return;
  const std::vector<Sequence*> members = decodes_.in_order();
  for (std::size_t i = static_cast<std::size_t>(config_.max_num_batched_tokens); i < members.size(); ++i) {
    stalled_.push_back(members[i]);
    decodes_.leave(*members[i]);
  }
}

void TensorrtLlm::keep_whole_contexts() {
  std::int64_t budget = budget_for_contexts();
  std::size_t kept = 0;
  for (; kept < contexts_in_step_.size(); ++kept) {
    Context& context = contexts_in_step_[kept];
    context.tokens = uncomputed(*context.sequence);
    if (context.tokens > budget) break;
    budget -= context.tokens;
  }
  if (kept == 0 && !contexts_in_step_.empty() && decodes_.empty()) {
    const Sequence& first = *contexts_in_step_.front().sequence;
    throw ConfigError("request " + std::to_string(first.row) + " was paused with " + std::to_string(first.known()) +
                      " tokens and can't be computed again: they exceed max_num_batched_tokens, and chunked context is off");
  }
  contexts_in_step_.resize(kept);
}

void TensorrtLlm::split_contexts() {
  const std::int64_t budget = budget_for_contexts();
  std::int64_t left = 0;
  for (Context& context : contexts_in_step_) {
    context.tokens = uncomputed(*context.sequence);
    left += context.tokens;
  }
  if (left <= budget) return;
  if (chunk_policy_ == ChunkPolicy::fcfs) {
    split_in_order(budget);
  } else {
    split_equally(budget);
  }
}

void TensorrtLlm::split_in_order(std::int64_t budget) {
  for (Context& context : contexts_in_step_) {
    // A truncated piece is whole units, maybe none; later contexts still get what it leaves.
    if (context.tokens > budget) context.tokens = budget / config_.chunk_unit * config_.chunk_unit;
    budget -= context.tokens;
  }
}

void TensorrtLlm::split_equally(std::int64_t budget) {
  std::vector<std::int64_t> left;
  for (Context& context : contexts_in_step_) {
    left.push_back(context.tokens);
    context.tokens = 0;
  }
  for (bool progress = true; progress && budget > 0;) {
    progress = false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::int64_t more = std::min(config_.chunk_unit, left[i]);
      if (more == 0 || more > budget) continue;
      contexts_in_step_[i].tokens += more;
      left[i] -= more;
      budget -= more;
      progress = true;
    }
  }
}

void TensorrtLlm::start_contexts(StepPlan& plan, SchedulerListener& listener) {
  for (const Context& context : contexts_in_step_) {
    if (context.tokens == 0) continue;
    Sequence& sequence = *context.sequence;
    if (!started(sequence)) {
      ++started_contexts_;
      admit(sequence, Tokens{blocks_.take_context(trt(sequence))}, listener);
    }
    schedule_prefill(sequence, context.tokens, plan);
  }
}

void TensorrtLlm::prompt_done(Sequence& sequence) {
  contexts_.erase(&sequence);
  --started_contexts_;
  blocks_.store(trt(sequence), sequence.computed);
  generations_.insert(&sequence);
  promised_blocks_ += full_blocks(sequence) - blocks_of(sequence.computed);
}

void TensorrtLlm::release(Sequence& sequence) {
  const std::int64_t held = blocks_of(sequence.computed);
  blocks_.release(trt(sequence), sequence.computed, held);
  free_blocks_ = blocks_.free();
  if (generations_.erase(&sequence) > 0) {
    promised_blocks_ -= full_blocks(sequence) - held;
  } else {
    contexts_.erase(&sequence);
    --started_contexts_;
  }
  sequences_.give_back(trt(sequence));
}

}  // namespace

std::unique_ptr<Scheduler> make_tensorrt_llm(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<TensorrtLlm>(config);
}

}  // namespace ridgeline
