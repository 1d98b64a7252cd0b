// What must hold in every run, whatever the scenario: random small scenarios, watched by an observer that counts.
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::run_text;

namespace {

// Counts what enters and leaves, and checks every step as it passes.
class Watcher final : public Observer {
 public:
  void arrived(const Request& request, Time) override { CHECK_UNIQUE(arrived_, request); }
  void finished(const Request& request, Time now) override {
    CHECK_UNIQUE(finished_, request);
    if (request.first_token < request.sent || now < request.first_token) orderly_ = false;
    emitted_ += request.spec.output.count();
    prompts_ += request.spec.input.count();
  }
  void preempted(const Request&, Time) override { ++preemptions_; }
  void first_token(const Request&, Time) override { ++tokens_heard_; }
  void chunks(const ChunksEmitted& fact) override { tokens_heard_ += fact.tokens; }
  void step_done(const StepDone& fact) override {
    for (const SchedulerLoad& load : {fact.planned, fact.load}) {
      if (load.free_blocks < 0 || load.free_blocks > load.total_blocks || load.running < 0 || load.waiting < 0) in_bounds_ = false;
    }
    if (fact.plan->batch.empty()) in_bounds_ = false;
    if (fact.end <= fact.start) orderly_ = false;
    if (fact.price->by_cause.total() != fact.price->total) sums_ = false;
    computed_ += fact.plan->batch.tokens().count();
    last_[fact.replica.value()] = fact.load;
  }

  void check_at_end(std::int64_t requests) const {
    CHECK(arrived_.size() == static_cast<std::size_t>(requests));
    CHECK(finished_ == arrived_);  // every request ends exactly once
    CHECK_FALSE(twice_);
    CHECK(orderly_);
    CHECK(in_bounds_);
    CHECK(sums_);
    CHECK(tokens_heard_ == emitted_);
    // Every request computes its prompt and all outputs but the last, less what the prefix cache or a shared prompt saves;
    // recomputation only adds. Without sharing, computed >= delivered.
    CHECK(computed_ >= prompts_ + emitted_ - requests);
    for (const auto& [replica, load] : last_) {
      CHECK(load.free_blocks == load.total_blocks);  // nothing leaks
      CHECK(load.running + load.waiting == 0);
    }
  }
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }

 private:
  void CHECK_UNIQUE(std::set<std::int64_t>& rows, const Request& request) {
    if (!rows.insert(request.spec.row).second) twice_ = true;
  }
  std::set<std::int64_t> arrived_, finished_;
  std::map<std::uint32_t, SchedulerLoad> last_;
  std::int64_t emitted_ = 0, prompts_ = 0, computed_ = 0, tokens_heard_ = 0, preemptions_ = 0;
  bool twice_ = false, orderly_ = true, in_bounds_ = true, sums_ = true;
};

struct Draw {
  explicit Draw(std::uint64_t seed) : stream(seed, "test", "scenario") {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <std::size_t N>
  const char* of(const char* const (&choices)[N]) {
    return choices[between(0, static_cast<std::int64_t>(N) - 1)];
  }
  RandomStream stream;
};

std::string random_scenario(std::uint64_t seed, std::int64_t requests) {
  Draw draw(seed);
  const std::int64_t block_size = std::int64_t{1} << draw.between(2, 5);
  const std::int64_t longest_input = draw.between(1, 300);
  const std::int64_t longest_output = draw.between(1, 80);
  const std::int64_t model_len = longest_input + longest_output;
  const std::int64_t least_blocks = (model_len + block_size - 1) / block_size + 1;
  const std::int64_t blocks = least_blocks + draw.between(0, 3 * least_blocks);
  const bool chunked = draw.between(0, 4) > 0;
  const std::int64_t sequences = draw.between(1, 24);
  const std::int64_t budget = chunked ? sequences + draw.between(1, 200) : model_len + sequences + draw.between(0, 200);
  return fmt::format(R"(
seed: {}
cost: {{model: constant, step_time: 1 ms}}
engine: {{profile: {}, block_size: {}, num_gpu_blocks_override: {}, max_num_seqs: {}, max_num_batched_tokens: {}, max_model_len: {},
         enable_chunked_prefill: {}, enable_prefix_caching: {}, async_scheduling: {}}}
fleet: [{{name: a, replicas: {}}}]
router: {{policy: {}}}
workload: {{arrival: {{process: {}, request_rate: {}}}, num_prompts: {},
           input_tokens: {{distribution: uniform, min: 1, max: {}}}, output_tokens: {{distribution: uniform, min: 1, max: {}}}{}}}
)",
                     seed, draw.of({"vllm-main-2026", "vllm-0.11"}), block_size, blocks, sequences, budget, model_len, chunked,
                     draw.between(0, 1) == 1, draw.between(0, 1) == 1, draw.between(1, 4),
                     draw.of({"round-robin", "random", "least-outstanding", "power-of-two", "least-kv"}), draw.of({"poisson", "constant"}),
                     draw.between(10, 400), requests, longest_input, longest_output,
                     draw.between(0, 2) == 0 ? fmt::format(", max_concurrency: {}", draw.between(1, 30)) : "");
}

}  // namespace

TEST_CASE("every request ends once, KV stays within capacity, nothing leaks, Little's law holds") {
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const std::string yaml = random_scenario(seed, 60);
    INFO(yaml);
    Watcher watcher;
    const RunResult result = run_text(yaml, {.observers = {&watcher}});
    watcher.check_at_end(60);
    preemptions += watcher.preemptions();
    // L = lambda W, exactly: both sides integrate the same sojourns over the same window.
    CHECK(result.metrics.mean_outstanding ==
          Approx(result.metrics.request_throughput * result.metrics.e2el.mean * 1e-3).epsilon(1e-9));
    double shares = 0;
    for (const double share : result.metrics.fleet.time_by_cause) shares += share;
    CHECK(shares == Approx(1.0));
  }
  CHECK(preemptions > 100);  // the scenarios are tight enough to mean something
}

TEST_CASE("one seed, one answer; another seed, another one") {
  const std::string yaml = random_scenario(3, 200);
  CHECK(run_text(yaml).fingerprint == run_text(yaml).fingerprint);
  std::set<std::uint64_t> fingerprints;
  for (std::uint64_t seed = 10; seed < 20; ++seed) fingerprints.insert(run_text(random_scenario(seed, 50)).fingerprint);
  CHECK(fingerprints.size() == 10);
}
