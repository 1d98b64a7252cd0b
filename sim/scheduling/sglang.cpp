#include "sim/scheduling/sglang.hpp"

#include <algorithm>

#include "sim/scheduling/sequence_engine.hpp"
#include "sim/scheduling/sglang_admission.hpp"
#include "sim/scheduling/sglang_memory.hpp"
#include "sim/scheduling/sglang_queue.hpp"
#include "sim/scheduling/sglang_retraction.hpp"

namespace ridgeline {

namespace {

using Batch = SglangBatch;

class Sglang final : public SequenceEngine {
 public:
  Sglang(const EngineConfig& config, const std::string& path)
      : SequenceEngine(config),
        memory_(config.block_size, config.num_gpu_blocks, config.enable_prefix_caching),
        queue_policy_(config.schedule_policy, config.enable_prefix_caching, RandomStream(config.seed, path, "sglang queue")),
        ratio_(config.schedule_conservativeness),
        mixes_(config.enable_mixed_chunk && config.chunked_prefill_size > 0) {}

  [[nodiscard]] SchedulerLoad load() const override {
    SchedulerLoad load = SequenceEngine::load();
    load.free_blocks = memory_.free_or_evictable() / config_.block_size;
    return load;
  }

 protected:
  void enqueue(Request& request, Time now) override;
  void form_step(Time now, StepPlan& plan, SchedulerListener& listener) override;
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(queue_.size()); }
  void prompt_done(Sequence& sequence) override;
  void release(Sequence& sequence) override;
  [[nodiscard]] bool is_steady() const override {
    return !chunked_ && last_prefill_.empty() && (queue_.empty() || batch_is_full_) &&
           static_cast<std::int64_t>(running_batch_.size()) == decodes_.size();
  }
  void take_steady_step() override {
    next_decode_fits(decodes_, memory_);  // evicts
    ratio_.decay();
    take_decode_tokens();
  }

 private:
  void merge_last_prefill();
  void drop_finished(Batch& batch);

  void form_prefill(StepPlan& plan, SchedulerListener& listener);
  [[nodiscard]] std::int64_t places() const;
  void pick(SglangAdmission& admission);
  [[nodiscard]] double expected_of_running() const;
  void start_prefill(const SglangAdmission& admission, StepPlan& plan, SchedulerListener& listener);

  void form_decode(StepPlan& plan, SchedulerListener& listener);
  void take_decode_tokens();
  void retract(SchedulerListener& listener);

  SglangMemory memory_;
  SglangQueuePolicy queue_policy_;
  NewTokenRatio ratio_;
  bool mixes_;
  SequencePool<SglangSequence> sequences_;
  Batch queue_;
  Batch running_batch_;               // decoding, and finished ones that no decode step has swept out yet
  Batch last_prefill_;                // not merged into the running batch yet
  SglangSequence* chunked_ = nullptr; // the one whose prompt is cut
  bool batch_is_full_ = false;        // no use trying to admit until something leaves
  std::int64_t first_order_ = 0;      // the running order grows at both ends
  std::int64_t last_order_ = 0;
};

void Sglang::enqueue(Request& request, Time /*now*/) {
  const RequestSpec& spec = request.spec;
  check_length(spec);
  const std::int64_t needed = spec.input.count() + SglangAdmission::expected(spec.max_tokens.count()) + memory_.page_size();
  if (needed >= memory_.total_tokens() || spec.input + spec.output > Tokens{memory_.total_tokens()}) {
    refuse(spec, "prompt and expected output need " + std::to_string(needed) + " tokens of a pool of " +
                     std::to_string(memory_.total_tokens()));
  }
  SglangSequence& sequence = sequences_.take(request);
  sequence.content = whole_content(spec);
  queue_.push_back(&sequence);
}

void Sglang::form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) {
  // The first attempt may only sweep out finished requests; SGLang's loop then simply comes round again.
  for (int attempt = 0; attempt < 2; ++attempt) {
    merge_last_prefill();
    form_prefill(plan, listener);
    if (plan.batch.empty()) form_decode(plan, listener);
    if (!plan.batch.empty()) return;
    if (queue_.empty()) {
      ratio_.reset();
      return;
    }
  }
  throw ConfigError("request " + std::to_string(queue_.front()->row) + " can't be admitted although nothing else runs: " +
                    std::to_string(queue_.front()->known()) + " tokens known, pool of " +
                    std::to_string(memory_.total_tokens()));
}

void Sglang::merge_last_prefill() {
  if (chunked_) memory_.store_unfinished(*chunked_, chunked_->computed);
  if (last_prefill_.empty()) return;
  const std::size_t size = last_prefill_.size();
  drop_finished(last_prefill_);
  std::erase(last_prefill_, chunked_);
  if (last_prefill_.size() < size) batch_is_full_ = false;
  if (running_batch_.empty() && !last_prefill_.empty()) batch_is_full_ = false;
  running_batch_.insert(running_batch_.end(), last_prefill_.begin(), last_prefill_.end());
  last_prefill_.clear();
}

void Sglang::drop_finished(Batch& batch) {
  std::erase_if(batch, [this](SglangSequence* sequence) {
    if (sequence->finished) sequences_.give_back(*sequence);
    return sequence->finished;
  });
}

void Sglang::form_prefill(StepPlan& plan, SchedulerListener& listener) {
  if (!chunked_ && !queue_.empty() && places() <= 0) batch_is_full_ = true;
  if (!chunked_ && (batch_is_full_ || queue_.empty())) return;
  queue_policy_.sort(queue_, memory_.tree());
  const std::int64_t riding = mixes_ ? static_cast<std::int64_t>(running_batch_.size()) : 0;
  SglangAdmission admission(memory_, config_.max_prefill_tokens, config_.chunked_prefill_size, riding, expected_of_running());
  if (chunked_ && !admission.continue_chunked(*chunked_)) chunked_ = nullptr;
  pick(admission);
  if (!admission.batch().empty()) start_prefill(admission, plan, listener);
}

std::int64_t Sglang::places() const {
  // In the batch, finished requests included; and rows of the request table, where a cut prompt has its own already.
  return config_.max_num_seqs - std::max(static_cast<std::int64_t>(running_batch_.size()), running_);
}

void Sglang::pick(SglangAdmission& admission) {
  const std::int64_t most = places();
  std::size_t taken = 0;
  for (SglangSequence* sequence : queue_) {
    if (static_cast<std::int64_t>(admission.batch().size()) >= most) batch_is_full_ = true;
    if (batch_is_full_) break;
    memory_.find_prefix(*sequence);
    const std::size_t size = admission.batch().size();
    const SglangAdmission::Verdict verdict = admission.add(*sequence);
    taken += admission.batch().size() - size;
    if (verdict == SglangAdmission::Verdict::no_token) batch_is_full_ = true;
    if (verdict != SglangAdmission::Verdict::next) break;
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken));
}

double Sglang::expected_of_running() const {
  // Term by term, in batch order: the test it feeds is a comparison of floating-point sums.
  double sum = 0.0;
  for (const SglangSequence* sequence : running_batch_) {
    const std::int64_t outputs = sequence->decoding ? decodes_.outputs(*sequence) : sequence->outputs;
    sum += static_cast<double>(SglangAdmission::expected(sequence->max_tokens - outputs)) * ratio_.value();
  }
  return sum;
}

void Sglang::start_prefill(const SglangAdmission& admission, StepPlan& plan, SchedulerListener& listener) {
  const Batch& batch = admission.batch();
  SglangSequence* const continued = batch.front()->computed > 0 ? batch.front() : nullptr;
  if (admission.cut()) chunked_ = admission.cut();

  std::int64_t wanted = 0;  // as SGLang estimates: with pages, one more for every request
  std::int64_t pages = 0;
  for (const SglangSequence* sequence : batch) {
    wanted += sequence->extend + (memory_.page_size() > 1 ? memory_.page_size() : 0);
    pages += memory_.whole_pages(sequence->cached + sequence->extend) - memory_.whole_pages(sequence->cached);
  }
  memory_.evict_if_short(wanted);
  memory_.take(pages);

  if (mixes_) drop_finished(running_batch_);
  const bool mixed = mixes_ && !running_batch_.empty();
  // A mixed batch becomes the running batch with its prompts in front.
  if (mixed) first_order_ -= static_cast<std::int64_t>(batch.size());
  std::int64_t order = mixed ? first_order_ : last_order_;
  for (SglangSequence* sequence : batch) {
    sequence->order = order++;
    if (sequence != continued) admit(*sequence, Tokens{sequence->cached}, listener);
    schedule_prefill(*sequence, sequence->extend, plan);
  }
  if (!mixed) last_order_ = order;

  last_prefill_ = batch;
  if (mixed) {
    take_decode_tokens();
    schedule_decodes(plan);
    last_prefill_.insert(last_prefill_.end(), running_batch_.begin(), running_batch_.end());
    running_batch_.clear();
  }
}

void Sglang::form_decode(StepPlan& plan, SchedulerListener& listener) {
  if (running_batch_.empty()) return;
  const std::size_t size = running_batch_.size();
  if (static_cast<std::int64_t>(size) != decodes_.size()) drop_finished(running_batch_);
  if (!running_batch_.empty()) {
    if (next_decode_fits(decodes_, memory_)) {
      ratio_.decay();
    } else {
      retract(listener);
    }
    take_decode_tokens();
    schedule_decodes(plan);
  }
  if (running_batch_.size() < size) batch_is_full_ = false;
}

void Sglang::take_decode_tokens() {
  memory_.evict_if_short(decodes_.size() * memory_.page_size());  // estimated: a page for every request
  memory_.take(decodes_.blocks_due() * memory_.page_size());
}

void Sglang::retract(SchedulerListener& listener) {
  for (SglangSequence* victim : retract_for_decode(running_batch_, decodes_, memory_)) {
    preempt(*victim, listener);
    queue_.push_back(victim);
  }
  for (SglangSequence* sequence : running_batch_) decodes_.leave(*sequence);
  for (SglangSequence* sequence : running_batch_) {  // the batch keeps its new order
    sequence->order = last_order_++;
    decodes_.join(*sequence);
  }
  ratio_.after_retraction(running_batch_);
}

void Sglang::prompt_done(Sequence& sequence) {
  memory_.store_unfinished(static_cast<SglangSequence&>(sequence), sequence.computed);
}

void Sglang::release(Sequence& sequence) {
  auto& finished = static_cast<SglangSequence&>(sequence);
  memory_.store_finished(finished, finished.computed);
  finished.finished = true;
}

}  // namespace

std::unique_ptr<Scheduler> make_sglang(const EngineConfig& config, const std::string& path) {
  return std::make_unique<Sglang>(config, path);
}

}  // namespace ridgeline
