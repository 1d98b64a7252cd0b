// What engines without drafts share: prompts are computed in pieces, then sequences decode one token a step, all together.
// Which of them run is the policy; it lives in the derived class, one file per engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scheduling/decode_set.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

/// A derived engine forms a step in `form_step` from `schedule_prefill` and `schedule_decodes`; this class applies it.
class SequenceEngine : public Scheduler {
 public:
  void add(Request& request, Time now) final;
  bool plan(Time now, StepPlan& plan, SchedulerListener& listener) final;
  void complete(Time now, SchedulerListener& listener) override;
  [[nodiscard]] SchedulerLoad load() const override;
  void look_ahead(std::int64_t most, DecodesAhead& ahead) const final;
  void pass(std::int64_t steps, Time now) final;
  void keep_rows(bool keep) final { keep_rows_ = keep; }
  [[nodiscard]] const std::vector<StepRow>& rows() const final { return rows_; }

 protected:
  /// Throws ConfigError for flags that no engine of this kind has: drafts, priorities, hybrid KV groups.
  explicit SequenceEngine(const EngineConfig& config);

  /// Puts a new request into the queue; throws ConfigError when it can never be served.
  virtual void enqueue(Request& request, Time now) = 0;
  /// The policy: what runs next, if anything.
  virtual void form_step(Time now, StepPlan& plan, SchedulerListener& listener) = 0;
  /// Requests in the queue.
  [[nodiscard]] virtual std::int64_t waiting() const = 0;
  /// The sequence's prompt is computed and a token sampled, but not its last: it decodes from now on.
  virtual void prompt_done(Sequence& /*sequence*/) {}
  /// Frees what a finished sequence holds and forgets it.
  virtual void release(Sequence& sequence) = 0;

  /// With only decodes in flight: whether the policy has nothing to decide until a sequence ends, a request arrives or fewer
  /// than `steady_reserve` blocks would be free, so that every step is all decodes.
  [[nodiscard]] virtual bool is_steady() const { return false; }
  /// Blocks that must stay free for that.
  [[nodiscard]] virtual std::int64_t steady_reserve() const { return 0; }
  /// The bookkeeping of planning such a step.
  virtual void take_steady_step() { free_blocks_ -= decodes_.blocks_due(); }

  /// Throws ConfigError when prompt and output exceed max_model_len.
  void check_length(const RequestSpec& spec) const;
  [[noreturn]] static void refuse(const RequestSpec& spec, const std::string& why);
  [[noreturn]] void refuse_reservation(const RequestSpec& spec, std::int64_t blocks, bool longest) const;

  void admit(Sequence& sequence, Tokens cached, SchedulerListener& listener);
  /// Schedules the next `tokens` of what the sequence has to compute before it can sample.
  void schedule_prefill(Sequence& sequence, std::int64_t tokens, StepPlan& plan);
  /// Schedules one token of every member of `decodes_`.
  void schedule_decodes(StepPlan& plan);
  /// Throws away the sequence's KV, for recomputation; outputs are kept. The caller frees the blocks and queues it again.
  void preempt(Sequence& sequence, SchedulerListener& listener);
  /// Takes a decoding sequence out of the batch, its KV kept elsewhere; `resume` lets it decode on.
  void suspend(Sequence& sequence, SchedulerListener& listener);
  void resume(Sequence& sequence, SchedulerListener& listener);

  /// Tokens with KV once the planned step has run; unfinished prompts that it leaves out are not counted.
  [[nodiscard]] std::int64_t tokens_held() const;
  /// Tokens with KV when the sequence ends.
  [[nodiscard]] static std::int64_t final_tokens(const Sequence& sequence) { return sequence.input + sequence.output - 1; }
  [[nodiscard]] static std::int64_t final_tokens(const RequestSpec& spec) { return spec.input.count() + spec.output.count() - 1; }
  /// Whether a piece of its prompt is in the planned step.
  [[nodiscard]] bool scheduled(const Sequence& sequence) const;
  /// Of a planned step where memory is reserved at admission: `promised` final tokens of all that hold memory and live.
  [[nodiscard]] KvWaste reserved_waste(std::int64_t promised, bool memory_is_short) const;

  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const { return ceil_divide(tokens, config_.block_size); }

  EngineConfig config_;
  DecodeSet decodes_;
  std::int64_t total_blocks_ = 0;
  std::int64_t free_blocks_ = 0;
  std::int64_t running_ = 0;   ///< admitted and unfinished
  bool decodes_lead_ = false;  ///< in a mixed batch decodes stand before prompts

 private:
  struct Prefill {
    Sequence* sequence = nullptr;
    std::int64_t tokens = 0;
    bool samples = false;  ///< the last piece of its prompt
  };

  void sample_first(Sequence& sequence, Time now, SchedulerListener& listener);
  void write_rows();
  void write_decode_rows();
  void finish(Sequence& sequence, SchedulerListener& listener);

  Time last_complete_;
  std::int64_t unseen_ = 0;           // requests that arrived since the engine last looked at its queue
  bool decodes_scheduled_ = false;
  std::vector<Prefill> prefills_;     // of the step in flight
  std::vector<StepRow> preempted_;    // since the last step
  std::vector<StepRow> rows_;
  std::vector<Sequence*> ended_;
  bool keep_rows_ = false;
};

}  // namespace ridgeline
