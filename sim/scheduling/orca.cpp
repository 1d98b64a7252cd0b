#include "sim/scheduling/orca.hpp"

#include <deque>

#include "sim/scheduling/recompute_engine.hpp"
#include "sim/scheduling/reservation.hpp"
#include "sim/scheduling/sequence_engine.hpp"
#include "sim/serving/contiguous_pool.hpp"

namespace ridgeline {

namespace {

struct ReservingSequence : Sequence {
  Reserved memory;
};

class Orca final : public SequenceEngine {
 public:
  explicit Orca(const EngineConfig& config)
      : SequenceEngine(config),
        reservation_(config),
        kept_free_(static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_gpu_blocks))),
        pool_(config.num_gpu_blocks) {
    decodes_lead_ = true;
  }

  void enqueue(Request& request, Time /*now*/) override {
    check_length(request.spec);
    const std::int64_t blocks = reservation_.blocks(request.spec);
    if (blocks > total_blocks_ - kept_free_) refuse_reservation(request.spec, blocks, reservation_.uniform());
    ReservingSequence& sequence = sequences_.take(request);
    sequence.order = next_order_++;
    sequence.memory.blocks = blocks;
    waiting_.push_back(&sequence);
  }

  void form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) override {
    if (!decodes_.empty()) schedule_decodes(plan);
    bool memory_is_short = false;
    while (!waiting_.empty() && running_ < config_.max_num_seqs) {
      ReservingSequence& sequence = *waiting_.front();
      memory_is_short = free_blocks_ - sequence.memory.blocks < kept_free_ || !pool_.fits(sequence.memory.blocks);
      if (memory_is_short) break;
      waiting_.pop_front();
      sequence.memory.first_block = *pool_.take(sequence.memory.blocks);
      free_blocks_ = pool_.free_blocks();
      promised_ += final_tokens(sequence);
      admit(sequence, Tokens{0}, listener);
      schedule_prefill(sequence, sequence.known(), plan);
    }
    plan.waste = reserved_waste(promised_, memory_is_short);
  }

 protected:
  [[nodiscard]] std::int64_t waiting() const override { return static_cast<std::int64_t>(waiting_.size()); }
  void release(Sequence& sequence) override {
    auto& reserving = static_cast<ReservingSequence&>(sequence);
    pool_.give_back(reserving.memory.first_block, reserving.memory.blocks);
    free_blocks_ = pool_.free_blocks();
    promised_ -= final_tokens(sequence);
    sequences_.give_back(reserving);
  }

 private:
  Reservation reservation_;
  std::int64_t kept_free_;  // blocks
  ContiguousPool pool_;
  SequencePool<ReservingSequence> sequences_;
  std::deque<ReservingSequence*> waiting_;
  std::int64_t next_order_ = 0;
  std::int64_t promised_ = 0;  // tokens that the running requests will hold at their ends
};

/// Orca's batches over paged memory: what vLLM changed, and nothing else.
class PagedOrca final : public RecomputeEngine {
 public:
  explicit PagedOrca(const EngineConfig& config) : RecomputeEngine(config) { decodes_lead_ = true; }

  void form_step(Time /*now*/, StepPlan& plan, SchedulerListener& listener) override {
    const bool preempted = make_room(plan, listener);
    if (!decodes_.empty()) schedule_decodes(plan);
    // Victims stand first in the queue; the blocks they gave up are for the running ones.
    if (!preempted || decodes_.empty()) {
      while (Sequence* sequence = admissible()) {
        admit_first(listener);
        schedule_prefill(*sequence, sequence->known(), plan);
      }
    }
    plan.waste = paged_waste();
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_orca(const EngineConfig& config, const std::string& /*path*/) {
  if (config.kv_reservation == "paged") return std::make_unique<PagedOrca>(config);
  return std::make_unique<Orca>(config);
}

}  // namespace ridgeline
