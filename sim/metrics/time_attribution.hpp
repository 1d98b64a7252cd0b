// Listens to a run and takes every request's latency apart, to the picosecond.
//
// Each replica keeps two clocks, prefix sums over its steps and the gaps between them: what an instant is to a decoding request
// (the causes of the decode batch, prompts beside it), and to one that waits with its prompt (others' prompts, decodes). Both
// advance by the wall time of the step, so a request's parts between two of its milestones are a difference of clock readings:
// O(causes) a step, O(1) a request, and O(1) for each piece of a prompt, which is priced alone to tell its own share.
//
// A mixed step is split by what it would have cost otherwise: the decode batch without the prompts, the prompts without the
// decodes, one prompt alone. Those prices come from the pool's own StepCost.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/cost/seams.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/metrics/time_parts.hpp"
#include "sim/serving/facts.hpp"

namespace ridgeline {

/// A finished request's time. Sums are checked against the measured latencies: InternalError where they differ.
struct RequestTime {
  std::int64_t row = 0;       ///< of the workload
  PoolId pool;
  std::int64_t output = 0;    ///< tokens
  bool good = true;           ///< within every limit of the SLO
  TimeParts ttft;             ///< sums to first token - sent
  TimeParts decoding;         ///< sums to last token - first token

  /// Sums to the TPOT as metrics have it; zero for outputs of one token.
  [[nodiscard]] TimeParts tpot() const;
};

class TimeAttribution final : public Observer {
 public:
  /// `costs[i]` prices pool i's steps; nobody else's: prices are remembered. `replicas` over all pools.
  TimeAttribution(std::vector<std::shared_ptr<StepCost>> costs, std::size_t replicas, ServiceLevel slo);

  void arrived(const Request& request, Time now) override;
  void admitted(const Request& request, Tokens cached, Time now) override;
  void preempted(const Request& request, Time now) override;
  void first_token(const Request& request, Time now) override;
  void finished(const Request& request, Time now) override;
  void step_done(const StepDone& fact) override;

  /// In order of their last tokens.
  [[nodiscard]] const std::vector<RequestTime>& requests() const { return finished_; }

 private:
  enum class Phase : std::uint8_t { queued, prefilling, decoding, preempted };
  /// What one replica's time so far was to a request that decodes, and to one whose prompt is not done.
  struct Clocks {
    TimeParts decoding;
    TimeParts waiting;
  };
  struct Live {
    RequestTime time;
    Phase phase = Phase::queued;
    std::int64_t prompt = 0;    // tokens
    std::int64_t computed = 0;  // tokens ever computed of prompt and outputs: below it, a chunk is recomputation
    bool emitted = false;       // the first token is out
    Time since;                 // all up to here is accounted for
    Clocks mark;                // the replica's clocks then
    [[nodiscard]] TimeParts& parts() { return emitted ? time.decoding : time.ttft; }
  };
  /// A milestone that takes effect at a step's boundary: replicas report it before the step itself.
  struct Milestone {
    enum class Kind : std::uint8_t { admitted, preempted, first_token, finished };
    Kind kind = Kind::admitted;
    std::int64_t row = 0;
    Time at;
    Duration ttft, e2el;  // as measured, of finished requests
  };
  struct ReplicaTime {
    Time now;
    Clocks clocks;
    std::vector<Milestone> starts;  // admissions and preemptions, in order
    std::vector<Milestone> ends;    // first and last tokens of the step that is ending
  };
  /// A step's time as both kinds of request see it.
  struct Step {
    Duration time;
    Duration swap;          // its share that moves KV to host memory and back
    Duration prefills;      // its prompts without its decodes
    TimeByCause decoding;   // its decodes without its prompts
  };

  Live* find(std::int64_t row);
  void take_starts(ReplicaTime& replica, Time until);
  void take_ends(ReplicaTime& replica);
  [[nodiscard]] Step split(const StepDone& fact);
  void charge_chunk(Live& live, const PrefillChunk& chunk, const StepDone& fact, const Step& step);
  /// The time since the last mark was spent in `live.phase`; marks anew.
  static void charge(Live& live, const ReplicaTime& replica);
  static void mark(Live& live, const ReplicaTime& replica) { live.since = replica.now, live.mark = replica.clocks; }
  void finish(const Milestone& milestone, Live& live);

  std::vector<std::shared_ptr<StepCost>> costs_;
  ServiceLevel slo_;
  std::vector<ReplicaTime> replicas_;
  std::unordered_map<std::int64_t, Live> live_;  // by row; never iterated
  std::vector<RequestTime> finished_;
  BatchShape scratch_;
};

}  // namespace ridgeline
