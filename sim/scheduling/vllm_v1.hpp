// vLLM V1's scheduler: continuous batching with chunked prefill over a paged KV cache.
//
// Rules from v1/core/sched/{scheduler,async_scheduler}.py of vLLM main of August 2026; flags of EngineConfig turn
// single rules back to what release 0.11 did.
//
// Two ways to plan a step: the walk goes through the batch as the engine does; where every running sequence decodes one
// token, the lockstep does the same in O(changes). EngineConfig::exact_steps leaves only the walk; results are equal.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scheduling/vllm_v1_lockstep.hpp"
#include "sim/scheduling/vllm_v1_queues.hpp"
#include "sim/scheduling/vllm_v1_sequence.hpp"
#include "sim/scheduling/vllm_v1_speculation.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/host_kv_tier.hpp"
#include "sim/serving/kv_cache.hpp"
#include "sim/serving/kv_run_cache.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline {

class VllmV1Scheduler final : public Scheduler {
 public:
  /// `path` names the replica. Throws ConfigError for flags that contradict each other.
  VllmV1Scheduler(const EngineConfig& config, const std::string& path);

  void add(Request& request, Time now) override;
  bool plan(Time now, StepPlan& plan, SchedulerListener& listener) override;
  void complete(Time now, SchedulerListener& listener) override;
  [[nodiscard]] SchedulerLoad load() const override;
  [[nodiscard]] Time next_wake() const override { return loads_.empty() ? Time::max() : loads_.front(); }
  void look_ahead(std::int64_t most, DecodesAhead& ahead) const override;
  void pass(std::int64_t steps, Time now) override;
  [[nodiscard]] int steps_in_flight() const override { return config_.async_scheduling ? 2 : 1; }
  void keep_rows(bool keep) override { keep_rows_ = keep; }
  [[nodiscard]] const std::vector<StepRow>& rows() const override { return rows_; }

 private:
  using Sequence = vllm_v1::Sequence;
  using Row = vllm_v1::Row;
  using Step = vllm_v1::Step;
  using State = vllm_v1::State;

  /// What is left of a step's budgets while it is planned.
  struct Budget {
    std::int64_t tokens = 0;     ///< scheduled tokens
    std::int64_t rows = 0;       ///< input rows: scheduled tokens and draft slots
    bool decodes_only = false;   ///< a running request is scheduled, and none that was in the middle of its prompt
    bool prefill_chunk = false;  ///< a running request that was in the middle of its prompt is scheduled
    bool preempted = false;
  };

  // Planning (vllm_v1_plan.cpp).
  bool plan_walk(Step& step, SchedulerListener& listener);
  void plan_running(Step& step, Budget& budget, SchedulerListener& listener);
  void plan_waiting(Step& step, Budget& budget, SchedulerListener& listener);
  [[nodiscard]] std::int64_t wanted_tokens(const Sequence& sequence, const Budget& budget) const;
  [[nodiscard]] bool certain_to_end(const Sequence& sequence) const;
  bool make_room(Sequence& sequence, std::int64_t tokens, Step& step, Budget& budget, SchedulerListener& listener);
  void preempt(Sequence& victim, SchedulerListener& listener);
  /// `parked`: its blocks are on their way from the host tier.
  enum class Admission : std::uint8_t { admitted, skipped, parked, stop };
  Admission admit(Sequence& sequence, Step& step, Budget& budget, SchedulerListener& listener);
  void schedule(Sequence& sequence, Row row, Step& step, Budget& budget) const;
  [[nodiscard]] static bool decodes(const Sequence& sequence) { return !sequence.prefilling || sequence.placeholders > 0; }
  void propose(Step& step) const;
  void advance(Step& step);
  void describe(const Step& step, BatchShape& batch) const;
  void check_admissible(const Sequence& sequence) const;

  // The host tier (vllm_v1_offload.cpp).
  std::optional<Admission> fetch(Sequence& sequence, std::int64_t hit, SchedulerListener& listener);
  bool plan_parked(Step& step, Budget& budget, SchedulerListener& listener);
  void offload(Sequence& sequence, Time now, SchedulerListener& listener);

  // Decoding in lockstep (vllm_v1_pace.cpp).
  [[nodiscard]] bool ends_by_length(const Sequence& sequence) const;
  [[nodiscard]] bool lockstep_fits() const;
  [[nodiscard]] bool is_steady() const;
  void advance_lockstep();
  bool plan_lockstep(Step& step, BatchShape& batch, SchedulerListener& listener);
  void plan_partial(Step& step, Budget& budget);
  void settle(Step& step);
  void list_members(Step& step);
  [[nodiscard]] bool may_join(const Sequence& sequence) const;
  [[nodiscard]] bool may_form();
  void form_lockstep();
  void dissolve_lockstep();
  void complete_lockstep(Step& step, SchedulerListener& listener);
  void complete_joined(const Row& row, Time now, SchedulerListener& listener);
  void finish_joined(Sequence& sequence, SchedulerListener& listener);

  // Completing (vllm_v1_complete.cpp).
  void complete_row(const Row& row, Time now, SchedulerListener& listener);
  void deliver(Sequence& sequence, std::int64_t tokens, Time now, SchedulerListener& listener);
  void finish(Sequence& sequence, SchedulerListener& listener);
  void log_rows(const Step& step);
  void forget(Sequence& sequence, SchedulerListener& listener);
  void unpin(Sequence& sequence);

  Sequence& new_sequence();

  EngineConfig config_;
  vllm_v1::Speculation speculation_;
  std::unique_ptr<KvCache> kv_;
  std::int64_t watermark_blocks_;

  std::deque<Sequence> arena_;  // addresses are stable; recycled through spare_
  std::vector<Sequence*> spare_;
  std::int64_t unseen_ = 0;  // requests that arrived since the engine last looked at its queue
  vllm_v1::WaitingQueue waiting_;
  vllm_v1::RunningList running_;
  vllm_v1::StepRing in_flight_;
  std::vector<Sequence*> skipped_;    // set aside while the waiting queue is walked
  std::vector<Sequence*> preempted_;  // since the last step that ran
  Time now_;  // of the plan in progress
  Time last_complete_;
  DraftsVerified verified_;           // of the step being completed
  std::int64_t futile_preemptions_ = 0;  // since a token was delivered

  std::optional<HostKvTier> tier_;
  std::vector<Sequence*> parked_;   // loading, in queue order
  std::int64_t parked_blocks_ = 0;  // that they still need
  std::deque<Time> loads_;          // ends of loads in progress, in order

  RunKvCache* runs_;  // kv_ when its blocks can be taken without naming their sequence, else null
  bool paces_;        // sequences may decode in lockstep
  bool in_lockstep_ = false;
  vllm_v1::Lockstep lockstep_;
  Sequence* partial_ = nullptr;  // in lockstep: the running sequence in the middle of its prompt, last of the list

  bool keep_rows_ = false;
  std::vector<StepRow> rows_;
};

/// Registry factory.
std::unique_ptr<Scheduler> make_vllm_v1(const EngineConfig& config, const std::string& path);

}  // namespace ridgeline
