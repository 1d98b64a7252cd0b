// The lockstep and the blocks kept as counts change nothing: random scenarios give the same bytes as the reference
// walk.
#include <map>
#include <sstream>

#include "sim/base/rng.hpp"
#include "sim/scheduling/vllm_v1.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schedule_case.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

/// Passes calls on and writes down what the cost model and the observers would see.
class Recorder : public Scheduler, private SchedulerListener {
 public:
  Recorder(const EngineConfig& config, bool keep) : inner_(config, "replica"), keep_(keep) {}

  void add(Request& request, Time now) override { inner_.add(request, now); }
  bool plan(Time now, StepPlan& plan, SchedulerListener& listener) override {
    outer_ = &listener;
    const bool planned = inner_.plan(now, plan, *this);
    if (planned) write(plan.batch);
    return planned;
  }
  void complete(Time now, SchedulerListener& listener) override {
    outer_ = &listener;
    inner_.complete(now, *this);
    // Chunks of one gap may come in any number of calls.
    for (const auto& [previous, sums] : chunks_) {
      seen_ << "chunks " << previous.since_start().count() << ' ' << sums.first << ' ' << sums.second << '\n';
    }
    chunks_.clear();
    const SchedulerLoad load = inner_.load();
    seen_ << "load " << load.running << ' ' << load.waiting << ' ' << load.free_blocks << '\n';
  }
  [[nodiscard]] SchedulerLoad load() const override { return inner_.load(); }
  [[nodiscard]] int steps_in_flight() const override { return inner_.steps_in_flight(); }
  void keep_rows(bool) override { inner_.keep_rows(keep_); }
  [[nodiscard]] const std::vector<StepRow>& rows() const override { return keep_ ? inner_.rows() : none_; }
  [[nodiscard]] std::string seen() const { return seen_.str(); }

 private:
  void write(const BatchShape& batch) {
    seen_ << "batch " << batch.decode_sequences << ' ' << batch.decode_queries.count() << ' '
          << batch.decode_context.count() << ' ' << batch.decode_context_in_window.count() << ' '
          << batch.proposing_sequences << ' ' << batch.sampled_sequences;
    for (const PrefillChunk& chunk : batch.chunks)
      seen_ << " [" << chunk.new_tokens.count() << '+' << chunk.history.count() << ']';
    seen_ << '\n';
  }
  void admitted(Request& request, Tokens cached) override {
    seen_ << "admitted " << request.spec.row << ' ' << cached.count() << '\n';
    outer_->admitted(request, cached);
  }
  void preempted(Request& request) override {
    seen_ << "preempted " << request.spec.row << '\n';
    outer_->preempted(request);
  }
  void first_token(Request& request) override { outer_->first_token(request); }
  void chunks(std::int64_t sequences, std::int64_t tokens, Time previous) override {
    auto& sums = chunks_[previous];
    sums.first += sequences;
    sums.second += tokens;
  }
  void finished(Request& request) override {
    seen_ << "finished " << request.spec.row << '\n';
    outer_->finished(request);
  }

  VllmV1Scheduler inner_;
  bool keep_;
  SchedulerListener* outer_ = nullptr;
  std::ostringstream seen_;
  std::map<Time, std::pair<std::int64_t, std::int64_t>> chunks_;
  std::vector<StepRow> none_;
};

struct Dice {
  RandomStream stream;
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
};

EngineConfig random_engine(Dice& dice, std::int64_t longest) {
  EngineConfig engine;
  engine.scheduler = "vllm_v1";
  engine.block_size = std::int64_t{1} << dice.between(1, 4);
  engine.max_model_len = dice.one_in(3) ? longest : 4096;
  engine.max_num_seqs = dice.between(1, 40);
  engine.max_num_batched_tokens = dice.between(4, 160);
  engine.enable_prefix_caching = !dice.one_in(3);
  engine.async_scheduling = dice.one_in(2);
  engine.scheduler_reserve_full_isl = !dice.one_in(3);
  engine.prepend_unhashed_free_blocks = !dice.one_in(3);
  engine.watermark = dice.one_in(4) ? 0.1 : 0.0;
  engine.scheduling_policy = dice.one_in(4) ? "priority" : "fcfs";
  engine.long_prefill_token_threshold = dice.one_in(8) ? 10 : 0;
  engine.attention_window = dice.one_in(2) ? dice.between(8, 80) : 0;
  const std::int64_t least = ceil_divide(longest, engine.block_size) + 2;
  engine.num_gpu_blocks = least + dice.between(0, dice.one_in(2) ? 3 * least : 12 * least);
  if (dice.one_in(6)) {
    engine.speculation = SpeculationConfig{.method = dice.one_in(2) ? "eagle" : "ngram",
                                           .num_speculative_tokens = 3,
                                           .acceptance = {0.7, 0.5},
                                           .accepted = {}};
    engine.num_gpu_blocks += 4;
  }
  return engine;
}

ScheduleCase random_case(std::uint64_t seed) {
  Dice dice{RandomStream(seed, "vllm_v1_exact_test", "scenario")};
  ScheduleCase scenario;
  scenario.step_time = Duration::milliseconds(1);
  const std::int64_t count = dice.between(1, 60);
  const bool shares = dice.one_in(2);
  const bool burst = dice.one_in(3);
  std::int64_t longest = 1;
  Duration arrival;
  for (std::int64_t row = 0; row < count; ++row) {
    RequestSpec spec;
    spec.row = row;
    if (!burst) arrival += Duration::microseconds(dice.between(0, 6000));
    spec.arrival = Time{arrival};
    spec.input = Tokens{dice.one_in(4) ? dice.between(1, 150) : dice.between(1, 40)};
    spec.output = Tokens{dice.one_in(4) ? dice.between(1, 3) : dice.between(1, 60)};
    spec.max_tokens = spec.output + Tokens{dice.one_in(2) ? dice.between(1, 5) : 0};
    spec.priority = static_cast<std::int32_t>(dice.between(0, 3));
    if (shares && !dice.one_in(4)) {
      Content content{{static_cast<std::uint64_t>(dice.between(1, 3)), Tokens{0}, Tokens{dice.between(1, 80)}}};
      if (row > 0 && dice.one_in(3))
        content.push_back({output_stream(dice.between(0, row - 1)), Tokens{0}, Tokens{dice.between(1, 40)}});
      spec.content = std::make_shared<Content>(content);
    }
    longest = std::max(longest, (spec.input + spec.output).count());
    scenario.requests.push_back(spec);
  }
  scenario.engine = random_engine(dice, longest);
  return scenario;
}

struct Run {
  ScheduleOutcome outcome;
  std::string seen;
};

Run run(ScheduleCase scenario, bool exact, bool keep) {
  scenario.engine.exact_steps = exact;
  Recorder recorder(scenario.engine, keep);
  Run result;
  try {
    result.outcome = run_schedule(scenario, recorder);
    result.seen = recorder.seen();
  } catch (const ConfigError& error) {
    result.seen = error.what();  // rare: prompts in pieces that preempt each other for ever
  }
  return result;
}

}  // namespace

TEST_CASE("vLLM V1 in lockstep equals the reference walk, byte for byte") {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    INFO("seed " << seed);
    const ScheduleCase scenario = random_case(seed);
    const Run exact = run(scenario, true, true);
    const Run fast = run(scenario, false, true);
    const Run unlogged = run(scenario, false, false);
    REQUIRE(fast.outcome.step_log == exact.outcome.step_log);
    REQUIRE(fast.seen == exact.seen);
    REQUIRE(unlogged.seen == exact.seen);
  }
}
