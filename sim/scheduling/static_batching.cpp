#include "sim/scheduling/static_batching.hpp"

#include <algorithm>
#include <deque>

#include "sim/scheduling/sequence_engine.hpp"

namespace ridgeline {

namespace {

struct StaticRules {
  bool frees_early = false;  ///< a finished request leaves the batch; else its row is computed until the batch ends
  Duration max_delay;        ///< a batch that isn't full waits this long for more requests
};

class StaticBatching final : public SequenceEngine {
 public:
  StaticBatching(const EngineConfig& config, StaticRules rules)
      : SequenceEngine(config),
        rules_(rules),
        reservation_(blocks_of(config.max_model_len)),
        kept_free_(static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_gpu_blocks))) {}

  void enqueue(Request& request, Time now) override {
    check_length(request.spec);
    if (largest_batch() < 1) refuse(request.spec, "the KV pool is smaller than one max_model_len");
    Sequence& sequence = sequences_.take(request);
    sequence.order = next_order_++;
    waiting_.push_back({&sequence, now});
  }

  void form_step(Time now, StepPlan& plan, SchedulerListener& listener) override {
    if (!decodes_.empty()) {
      schedule_decodes(plan);
      pad_decodes(plan.batch);
    } else if (!waiting_.empty() && now >= batch_due()) {
      form_batch(plan, listener);
    }
  }

  [[nodiscard]] Time next_wake() const override {
    return decodes_.empty() && !waiting_.empty() ? batch_due() : Time::max();
  }

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(waiting_.size()); }

  void release(Sequence& sequence) override {
    if (rules_.frees_early) {
      free_blocks_ += reservation_;
    } else if (running_ == 0) {
      free_blocks_ += rows_in_batch_ * reservation_;
    }
    sequences_.give_back(sequence);
  }

 private:
  struct Waiting {
    Sequence* sequence = nullptr;
    Time since;
  };

  [[nodiscard]] std::int64_t largest_batch() const {
    return std::min(config_.max_num_seqs, (total_blocks_ - kept_free_) / reservation_);
  }

  /// When the queue becomes a batch: at once if it fills one.
  [[nodiscard]] Time batch_due() const {
    return waiting() >= largest_batch() ? waiting_.front().since : waiting_.front().since + rules_.max_delay;
  }

  void form_batch(StepPlan& plan, SchedulerListener& listener) {
    rows_in_batch_ = std::min(waiting(), largest_batch());
    longest_prompt_ = 0;
    for (std::int64_t row = 0; row < rows_in_batch_; ++row) {
      Sequence& sequence = *waiting_.front().sequence;
      waiting_.pop_front();
      free_blocks_ -= reservation_;
      longest_prompt_ = std::max(longest_prompt_, sequence.input);
      admit(sequence, Tokens{0}, listener);
      schedule_prefill(sequence, sequence.input, plan);
    }
    if (!rules_.frees_early) plan.batch.padding = Tokens{rows_in_batch_ * longest_prompt_} - plan.batch.prefill_tokens();
    steps_ = 1;
  }

  /// Rows that ended are still computed in every linear layer; attention skips them, but reads padded prompts.
  void pad_decodes(BatchShape& batch) {
    ++steps_;
    if (rules_.frees_early) return;
    batch.padding = Tokens{rows_in_batch_ - decodes_.size()};
    const std::int64_t length = longest_prompt_ + steps_ - 1;
    batch.decode_context = Tokens{decodes_.size() * length};
    if (config_.attention_window > 0) {
      batch.decode_context_in_window = Tokens{decodes_.size() * std::min(length, config_.attention_window)};
    }
    batch.sampled_sequences = rows_in_batch_;
  }

  StaticRules rules_;
  std::int64_t reservation_;  // blocks of one request, whatever its length
  std::int64_t kept_free_;    // blocks
  SequencePool<Sequence> sequences_;
  std::deque<Waiting> waiting_;
  std::int64_t next_order_ = 0;
  std::int64_t rows_in_batch_ = 0;
  std::int64_t longest_prompt_ = 0;  // tokens
  std::int64_t steps_ = 0;           // of the batch, its prefill included
};

}  // namespace

std::unique_ptr<Scheduler> make_static(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<StaticBatching>(config, StaticRules{});
}

std::unique_ptr<Scheduler> make_static_early_free(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<StaticBatching>(config, StaticRules{.frees_early = true, .max_delay = Duration{}});
}

std::unique_ptr<Scheduler> make_dynamic_batching(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<StaticBatching>(config, StaticRules{.frees_early = false, .max_delay = config.max_queue_delay});
}

}  // namespace ridgeline
