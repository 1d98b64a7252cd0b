#include "sim/scheduling/orca.hpp"

#include <deque>

#include "sim/scheduling/sequence_engine.hpp"

namespace ridgeline {

namespace {

class Orca final : public SequenceEngine {
 public:
  explicit Orca(const EngineConfig& config)
      : SequenceEngine(config),
        reservation_(blocks_of(config.max_model_len)),
        kept_free_(static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_gpu_blocks))) {
    decodes_lead_ = true;
  }

  void enqueue(Request& request, Time /*now*/) override {
    check_length(request.spec);
    if (reservation_ > total_blocks_ - kept_free_) refuse(request.spec, "the KV pool is smaller than one max_model_len");
    Sequence& sequence = sequences_.take(request);
    sequence.order = next_order_++;
    waiting_.push_back(&sequence);
  }

  void form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) override {
    if (!decodes_.empty()) schedule_decodes(plan);
    while (!waiting_.empty() && free_blocks_ - reservation_ >= kept_free_ && running_ < config_.max_num_seqs) {
      Sequence& sequence = *waiting_.front();
      waiting_.pop_front();
      free_blocks_ -= reservation_;
      admit(sequence, Tokens{0}, listener);
      schedule_prefill(sequence, sequence.known(), plan);
    }
  }

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(waiting_.size()); }
  void release(Sequence& sequence) override {
    free_blocks_ += reservation_;
    sequences_.give_back(sequence);
  }

 private:
  std::int64_t reservation_;  // blocks of one request, whatever its length
  std::int64_t kept_free_;    // blocks
  SequencePool<Sequence> sequences_;
  std::deque<Sequence*> waiting_;
  std::int64_t next_order_ = 0;
};

}  // namespace

std::unique_ptr<Scheduler> make_orca(const EngineConfig& config, const std::string& /*path*/) {
  return std::make_unique<Orca>(config);
}

}  // namespace ridgeline
