#include "sim/scheduling/static_batching.hpp"

#include <algorithm>
#include <deque>

#include "sim/scheduling/reservation.hpp"
#include "sim/scheduling/sequence_engine.hpp"

namespace ridgeline {

namespace {

struct StaticRules {
  bool frees_early = false;  ///< a finished request leaves the batch; else its row is computed until the batch ends
  Duration max_delay;        ///< a batch that isn't full waits this long for more requests
};

struct StaticSequence : Sequence {
  std::int64_t blocks = 0;  ///< its reservation
};

class StaticBatching final : public SequenceEngine {
 public:
  StaticBatching(const EngineConfig& config, StaticRules rules)
      : SequenceEngine(config),
        rules_(rules),
        reservation_(config),
        kept_free_(static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_gpu_blocks))) {}

  void enqueue(Request& request, Time now) override {
    check_length(request.spec);
    const std::int64_t blocks = reservation_.blocks(request.spec);
    if (blocks > total_blocks_ - kept_free_) refuse_reservation(request.spec, blocks, reservation_.uniform());
    StaticSequence& sequence = sequences_.take(request);
    sequence.order = next_order_++;
    sequence.blocks = blocks;
    waiting_.push_back({&sequence, now});
  }

  void form_step(Time now, StepPlan& plan, SchedulerListener& listener) override {
    if (!decodes_.empty()) {
      schedule_decodes(plan);
      pad_decodes(plan.batch);
    } else if (!waiting_.empty() && now >= batch_due()) {
      form_batch(plan, listener);
    }
    plan.waste = reserved_waste(promised_, false);
  }

  [[nodiscard]] Time next_wake() const override {
    return decodes_.empty() && !waiting_.empty() ? batch_due() : Time::max();
  }

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(waiting_.size()); }

  void release(Sequence& sequence) override {
    auto& row = static_cast<StaticSequence&>(sequence);
    dead_blocks_ += row.blocks;
    if (rules_.frees_early || running_ == 0) {
      free_blocks_ += dead_blocks_;
      dead_blocks_ = 0;
    }
    promised_ -= final_tokens(sequence);
    sequences_.give_back(row);
  }

 private:
  struct Waiting {
    StaticSequence* sequence = nullptr;
    Time since;
  };

  /// The batch that the head of the queue makes, when nothing runs.
  struct Forming {
    std::int64_t rows = 0;
    bool full = false;  ///< no further request could join it
  };
  [[nodiscard]] Forming forming() const {
    std::int64_t free = total_blocks_ - kept_free_;
    for (Forming batch;; ++batch.rows) {
      batch.full = batch.rows == config_.max_num_seqs;
      if (batch.full || batch.rows == waiting()) {
        // Where all reservations are alike, the one that would not fit need not be seen.
        batch.full |= reservation_.uniform() && batch.rows > 0 && waiting_.front().sequence->blocks > free;
        return batch;
      }
      const std::int64_t blocks = waiting_[static_cast<std::size_t>(batch.rows)].sequence->blocks;
      batch.full = blocks > free;
      if (batch.full) return batch;
      free -= blocks;
    }
  }

  /// When the queue becomes a batch: at once if it fills one.
  [[nodiscard]] Time batch_due() const {
    return forming().full ? waiting_.front().since : waiting_.front().since + rules_.max_delay;
  }

  void form_batch(StepPlan& plan, SchedulerListener& listener) {
    rows_in_batch_ = forming().rows;
    longest_prompt_ = 0;
    for (std::int64_t row = 0; row < rows_in_batch_; ++row) {
      StaticSequence& sequence = *waiting_.front().sequence;
      waiting_.pop_front();
      free_blocks_ -= sequence.blocks;
      promised_ += final_tokens(sequence);
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
  Reservation reservation_;
  std::int64_t kept_free_;  // blocks
  SequencePool<StaticSequence> sequences_;
  std::deque<Waiting> waiting_;
  std::int64_t next_order_ = 0;
  std::int64_t rows_in_batch_ = 0;
  std::int64_t longest_prompt_ = 0;  // tokens
  std::int64_t steps_ = 0;           // of the batch, its prefill included
  std::int64_t promised_ = 0;        // tokens that the unfinished rows will hold at their ends
  std::int64_t dead_blocks_ = 0;     // of finished rows that stay in the batch
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
