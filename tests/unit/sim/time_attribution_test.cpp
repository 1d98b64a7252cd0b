// Where a request's time goes, on runs small enough to be followed by hand.
//
// Every step takes 10 us (weights) + 1 us a prompt token (compute) + 2 us a decode (kv).
#include <map>
#include <memory>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/metrics/time_attribution.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/scheduling/builtin.hpp"
#include "sim/serving/cluster.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

constexpr Duration us(std::int64_t n) { return Duration::microseconds(n); }

class LinearCost final : public StepCost {
 public:
  StepPrice of(const BatchShape& batch) override {
    StepPrice price;
    price.by_cause[Cause::weights] = us(10);
    price.by_cause[Cause::compute] = us(batch.prefill_tokens().count());
    price.by_cause[Cause::kv] = us(2 * batch.decode_sequences);
    price.total = price.gpu = price.by_cause.total();
    return price;
  }
};

class Listed final : public RequestSource {
 public:
  void add(Duration arrival, std::int64_t input, std::int64_t output) {
    RequestSpec spec;
    spec.row = static_cast<std::int64_t>(specs_.size());
    spec.arrival = Time{arrival};
    spec.input = Tokens{input};
    spec.output = spec.max_tokens = Tokens{output};
    specs_.push_back(spec);
  }
  Time next_arrival() override { return next_ < specs_.size() ? specs_[next_].arrival : Time::max(); }
  std::optional<RequestSpec> next() override {
    return next_ < specs_.size() ? std::optional(specs_[next_++]) : std::nullopt;
  }

 private:
  std::vector<RequestSpec> specs_;
  std::size_t next_ = 0;
};

EngineConfig engine() {
  EngineConfig config;
  config.scheduler = "vllm_v1";
  config.block_size = 4;
  config.num_gpu_blocks = 1000;
  config.max_num_batched_tokens = 100;
  config.max_model_len = 1000;
  config.enable_prefix_caching = false;
  config.async_scheduling = false;
  return config;
}

std::map<std::int64_t, RequestTime> attributed(const EngineConfig& config, Listed source, ServiceLevel slo = {}) {
  TimeAttribution attribution({std::make_shared<LinearCost>()}, 1, slo);
  EventQueue queue;
  Cluster cluster(queue, source, {}, {&attribution});
  cluster.add_replica({.id = ReplicaId{0}, .pool = PoolId{0}, .name = "one"},
                      find_row(schedulers(), config.scheduler, "scheduler").make(config, "replica"), std::make_shared<LinearCost>());
  cluster.set_router(make_round_robin({.replicas = 1}));
  cluster.start();
  while (queue.run_next()) {
  }
  std::map<std::int64_t, RequestTime> by_row;
  for (const RequestTime& request : attribution.requests()) by_row[request.row] = request;
  return by_row;
}

TimeParts parts(std::initializer_list<std::pair<TimePart, std::int64_t>> microseconds) {
  TimeParts sum;
  for (const auto& [part, n] : microseconds) sum[part] = us(n);
  return sum;
}

}  // namespace

TEST_CASE("a prompt in pieces beside a decode: each sees what the other costs it") {
  Listed source;
  source.add(us(0), 40, 3);
  source.add(us(5), 150, 1);
  // [0, 50]     A's 40 prompt tokens: 10 + 40.
  // [50, 161]   A decodes, 99 of B's tokens: 10 + 99 + 2. Without B A had taken 12, without A B 109.
  // [161, 224]  A decodes, B's last 51: 10 + 51 + 2. Both end.
  const auto request = attributed(engine(), source);
  CHECK(request.at(0).ttft == parts({{TimePart::weights, 10}, {TimePart::compute, 40}}));
  CHECK(request.at(0).decoding == parts({{TimePart::weights, 20}, {TimePart::kv, 4}, {TimePart::prefills, 99 + 51}}));
  CHECK(request.at(0).tpot() == parts({{TimePart::weights, 10}, {TimePart::kv, 2}, {TimePart::prefills, 75}}));
  CHECK(request.at(1).ttft ==
        parts({{TimePart::queue, 45}, {TimePart::weights, 20}, {TimePart::compute, 150}, {TimePart::decodes, 4}}));
  CHECK(request.at(1).decoding == TimeParts{});
  CHECK(request.at(1).tpot() == TimeParts{});
}

TEST_CASE("prompts that share a step delay each other by what they add") {
  Listed source;
  source.add(us(0), 30, 1);
  source.add(us(0), 20, 1);
  // One step of 10 + 50; alone they take 40 and 30.
  const auto request = attributed(engine(), source);
  CHECK(request.at(0).ttft == parts({{TimePart::weights, 10}, {TimePart::compute, 30}, {TimePart::prefills, 20}}));
  CHECK(request.at(1).ttft == parts({{TimePart::weights, 10}, {TimePart::compute, 20}, {TimePart::prefills, 30}}));
}

TEST_CASE("a preempted request waits, recomputes, and goes on") {
  EngineConfig config = engine();
  config.num_gpu_blocks = 5;  // four usable, 16 tokens
  Listed source;
  source.add(us(0), 4, 9);
  source.add(us(0), 4, 9);
  // Step 1 [0, 18]: both prompts. Steps 2-5, 14 each: both decode up to 8 cached tokens, two blocks each: all four are taken.
  // Step 6 needs a third block for the older request: the younger is thrown out with 5 tokens. Steps 6-9, 12 each: the older
  // decodes alone and ends. Step 10: the younger recomputes its 4 + 5 tokens, 10 + 9. Steps 11-13, 12 each: its last three.
  const auto request = attributed(config, source);
  CHECK(request.at(0).decoding == parts({{TimePart::weights, 80}, {TimePart::kv, 4 * 4 + 4 * 2}}));
  CHECK(request.at(1).ttft == parts({{TimePart::weights, 10}, {TimePart::compute, 4}, {TimePart::prefills, 4}}));
  CHECK(request.at(1).decoding == parts({{TimePart::weights, 40 + 30}, {TimePart::kv, 16 + 6}, {TimePart::preempted, 48},
                                         {TimePart::recomputation, 19}}));
}

TEST_CASE("an engine that plans ahead admits a request a step before it computes it") {
  EngineConfig config = engine();
  config.async_scheduling = true;
  Listed source;
  source.add(us(0), 40, 4);
  source.add(us(5), 20, 1);
  // Steps 1 [0, 50] and 2 [50, 62] are planned at once. At 50 B is admitted to step 3, which begins at 62: it queues till then.
  const auto request = attributed(config, source);
  CHECK(request.at(1).ttft == parts({{TimePart::queue, 57}, {TimePart::weights, 10}, {TimePart::compute, 20}, {TimePart::decodes, 2}}));
  CHECK(request.at(0).decoding == parts({{TimePart::weights, 30}, {TimePart::kv, 6}, {TimePart::prefills, 20}}));
}

TEST_CASE("requests are judged by the limits that goodput counts") {
  Listed source;
  source.add(us(0), 30, 1);
  source.add(us(0), 90, 1);
  const auto request = attributed(engine(), source, {.ttft = us(110)});  // 110 = the step of the first 100 tokens
  CHECK(request.at(0).good);
  CHECK_FALSE(request.at(1).good);
}

TEST_CASE("scaled parts and means sum exactly") {
  TimeParts odd;
  odd[TimePart::queue] = Duration{1};
  odd[TimePart::weights] = Duration{1};
  odd[TimePart::kv] = Duration{1};
  const TimeParts scaled = scaled_to(odd, Duration{10});  // 3 + 3 + 3, the first of the largest takes the tenth
  CHECK(scaled[TimePart::queue] == Duration{4});
  CHECK(scaled[TimePart::kv] == Duration{3});
  CHECK(scaled_to(TimeParts{}, Duration{7})[TimePart::idle] == Duration{7});

  TimeParts other;
  other[TimePart::queue] = Duration{4};
  const TimeParts mean = mean_of(std::vector{odd, other});  // totals 3 and 4: mean 3; parts 2.5, 0.5, 0.5
  CHECK(mean.total() == Duration{3});
  CHECK(mean[TimePart::queue] == Duration{3});
  // A million requests of 2^60 ps each: no sum of them fits into 64 bits.
  TimeParts huge;
  huge[TimePart::queue] = Duration{std::int64_t{1} << 60};
  CHECK(mean_of(std::vector(1'000'000, huge)) == huge);
}
