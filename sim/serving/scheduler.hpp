// The seam between an engine's scheduling policy and the replica that charges time for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/batch_shape.hpp"
#include "sim/cost/host_link.hpp"
#include "sim/serving/request.hpp"

namespace ridgeline {

/// KV that crosses the host link around a step; figures are one GPU's.
struct HostTraffic {
  HostTransfer in;   ///< from host memory
  HostTransfer out;  ///< to host memory
};

/// Slots of the KV pool that hold no token while a step runs.
struct KvWaste {
  Tokens reserved;  ///< held for tokens that their sequence has yet to produce
  Tokens internal;  ///< held by a sequence that will never fill them
  Tokens external;  ///< free, but useless to the request that waits for memory
};

/// A step as the scheduler planned it.
struct StepPlan {
  BatchShape batch;
  HostTraffic swapped;    ///< preemption by swap: on the step's own stream, so the step takes longer
  std::optional<KvWaste> waste;  ///< of schedulers that keep count of it
  Tokens evicted;         ///< tokens of running sequences whose KV is dropped for good (KvEviction)
  void clear() {
    batch.clear();
    swapped = HostTraffic{};
    waste.reset();
    evicted = Tokens{};
  }
};

/// What became of the drafts that one step verified.
struct DraftsVerified {
  std::int64_t sequences = 0;        ///< sequences with drafts to verify
  std::int64_t drafts = 0;           ///< their drafts
  std::int64_t accepted = 0;         ///< of those, accepted; the last ones may lie beyond the end of the output
  std::int64_t decodes = 0;          ///< sequences that extended their output, with or without drafts
  std::int64_t decoded_tokens = 0;   ///< what they got
};

/// What the replica hears while a scheduler plans and applies steps. Calls are O(changes), never per decoded token.
class SchedulerListener {
 public:
  virtual ~SchedulerListener() = default;
  virtual void admitted(Request& request, Tokens cached) = 0;  ///< first admission or resume
  virtual void preempted(Request& request) = 0;
  /// Prefix blocks started on their way to or from the host tier, on streams of their own: no step waits for them.
  virtual void offloaded(const HostTraffic& /*started*/) {}
  /// Cached prefix blocks were overwritten.
  virtual void cache_evicted(std::int64_t /*blocks*/) {}
  /// The first output token (TTFT); the replica stamps the time.
  virtual void first_token(Request& request) = 0;
  /// `sequences` sequences emitted one chunk each now, their previous chunk was emitted at `previous`;
  /// `tokens` is the sum over them.
  virtual void chunks(std::int64_t sequences, std::int64_t tokens, Time previous) = 0;
  /// Drafts of the step being applied, over all its sequences. At most once a step.
  virtual void verified(const DraftsVerified& /*drafts*/) {}
  /// All output tokens are delivered; the scheduler forgets the request in this call.
  virtual void finished(Request& request) = 0;
};

/// State that routers and logs see.
struct SchedulerLoad {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t total_blocks = 0;  ///< usable blocks (vLLM: null block excluded)
  std::int64_t free_blocks = 0;   ///< blocks that no running request references
  std::int64_t host_blocks = 0;   ///< KV blocks in host memory: swapped out, or in the offload tier
};

/// One row of the step log.
struct StepRow {
  enum class Kind : std::uint8_t { prefill, decode, preempted };
  std::int64_t request = 0;  ///< workload row
  Kind kind = Kind::decode;
  Tokens scheduled;
  Tokens computed;  ///< after the step, rejected drafts taken back; 0 when preempted
  Tokens output;    ///< output tokens after the step
};

/// Decode steps that are sure to follow: see Scheduler::look_ahead.
struct DecodesAhead {
  SchedulerLoad load;                     ///< after planning any of them, but for `free_blocks`
  Tokens growth_in_window;                ///< of BatchShape::decode_context_in_window, each step
  std::int64_t block_size = 0;            ///< tokens: KvWaste::internal grows by slots taken less tokens that fill them
  std::vector<std::int64_t> free_blocks;  ///< after planning each of them; as many as there are steps
  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(free_blocks.size()); }
};

/// An engine's scheduler with its KV bookkeeping: which tokens of which requests the next step computes.
///
/// Protocol: the replica calls `plan`; a true answer is a step in flight, whose outputs it hands back with `complete`, oldest first.
/// Engines that schedule ahead (async) allow `steps_in_flight()` > 1 and see `plan` again before the previous `complete`.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Throws ConfigError when the request can never be served (longer than max_model_len or the whole KV pool).
  virtual void add(Request& request, Time now) = 0;

  /// Forms the next step into `plan` (already cleared). False: nothing can run until something arrives or completes.
  virtual bool plan(Time now, StepPlan& plan, SchedulerListener& listener) = 0;

  /// The oldest step in flight has ended: apply its sampled tokens, let finished requests leave.
  virtual void complete(Time now, SchedulerListener& listener) = 0;

  [[nodiscard]] virtual SchedulerLoad load() const = 0;

  /// After a false `plan` with nothing in flight: ask again then, even if nothing arrives.
  [[nodiscard]] virtual Time next_wake() const { return Time::max(); }

  [[nodiscard]] virtual int steps_in_flight() const { return 1; }

  /// Which steps, at most `most`, are sure to be planned after the newest one if no request arrives first, all in the steady
  /// state: they and every step in flight give one token to each of the newest step's decode sequences and do nothing else,
  /// and no sequence ends before the last of them does.
  virtual void look_ahead(std::int64_t /*most*/, DecodesAhead& ahead) const { ahead.free_blocks.clear(); }
  /// So many times: the oldest step in flight ends, and the next one that `look_ahead` saw is planned. `now` is the last time.
  virtual void pass(std::int64_t /*steps*/, Time /*now*/) { throw InternalError("this scheduler does not look ahead"); }

  /// Rows of the step just completed, in batch order, preempted rows where the engine would list them. Costs O(batch);
  /// only called when a step log was asked for with `keep_rows`.
  virtual void keep_rows(bool keep) = 0;
  [[nodiscard]] virtual const std::vector<StepRow>& rows() const = 0;
};

}  // namespace ridgeline
