// A step of speculative decoding is its target's step and the drafter's passes: counted with operators of known price.
#include <memory>

#include "sim/cost/speculative_step_cost.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

// One operator a row of tokens, one a row of logits.
class RowModel final : public WorkModel {
 public:
  [[nodiscard]] std::vector<Op> token_ops(Tokens tokens) const override { return {op("token", tokens.count())}; }
  [[nodiscard]] std::vector<Op> sampling_ops(std::int64_t rows) const override { return {op("logits", rows)}; }
  void attention_ops(const BatchShape&, std::vector<Op>& ops) const override { ops.clear(); }
  [[nodiscard]] StepWork lower(const BatchShape&) const override { return {}; }

 private:
  static Op op(std::string_view name, std::int64_t rows) {
    return {.name = name, .shape = GemmShape{.m = rows, .n = 1, .k = 1}, .flops = {}, .weight_bytes = {}, .kv_bytes = {}, .activation_bytes = {}};
  }
};

// 1 us a row of tokens, 10 us a row of logits.
class RowDevice final : public DeviceModel {
 public:
  [[nodiscard]] OpPrice price(const Op& op) const override {
    OpPrice price;
    price.time = Duration::microseconds(std::get<GemmShape>(op.shape).m * (op.name == "logits" ? 10 : 1));
    price.by_cause[Cause::compute] = price.time;
    return price;
  }
};

SpeculativeStepCost cost_with(DrafterWork work, bool overlapped = false) {
  const auto device = std::make_shared<RowDevice>();
  const StepCostOptions options{.host = {Duration::microseconds(100), Duration{}, overlapped}, .graph_sizes = {}, .eager_launch = {}};
  work.host = {Duration::microseconds(50), Duration{}, overlapped};
  return {std::make_unique<ComposedStepCost>(std::make_shared<RowModel>(), device, options), device, options, std::move(work)};
}

// Two sequences verify three drafts each and get three new ones.
BatchShape verification() {
  BatchShape batch;
  batch.decode_sequences = batch.sampled_sequences = batch.proposing_sequences = 2;
  batch.decode_queries = Tokens{8};
  batch.decode_context = batch.proposing_context = Tokens{200};
  batch.verified_drafts = 6;
  batch.proposals = 3;
  return batch;
}

// Target: 8 rows and 8 rows of logits = 88 us; host 100 + 50 us.
constexpr std::int64_t target_us = 88;
constexpr std::int64_t host_us = 150;

void check_step(SpeculativeStepCost cost, const BatchShape& batch, std::int64_t gpu_us, std::int64_t step_host_us) {
  const StepPrice price = cost.of(batch);
  CHECK(price.gpu == Duration::microseconds(gpu_us));
  CHECK(price.host == Duration::microseconds(step_host_us));
  CHECK(price.total == Duration::microseconds(gpu_us + step_host_us));
  CHECK(price.by_cause.total() == price.total);
  CHECK(price.by_cause[Cause::compute] == Duration::microseconds(gpu_us));
}

}  // namespace

TEST_CASE("a chain: one pass over the step's rows, one a further draft") {
  // 8 rows + 2 of logits = 28; twice 2 rows + 2 of logits = 44.
  check_step(cost_with({.model = std::make_shared<RowModel>()}), verification(), target_us + 28 + 44, host_us);
  // A draft model feeds one row more a sequence.
  check_step(cost_with({.model = std::make_shared<RowModel>(), .extra_rows = 1}), verification(), target_us + 30 + 44, host_us);
}

TEST_CASE("a tree: a pass a level over its branches, and the host between levels") {
  // 28, then three levels of 4 rows + 4 of logits = 44; host 100 + 4 x 50.
  check_step(cost_with({.model = std::make_shared<RowModel>(), .tree_depth = 4, .tree_topk = 2}), verification(), target_us + 28 + 132, 300);
}

TEST_CASE("parallel heads run once, n-gram only on the host") {
  check_step(cost_with({.model = std::make_shared<RowModel>(), .sequential = false}), verification(), target_us + 20, host_us);
  check_step(cost_with({}), verification(), target_us, host_us);
}

TEST_CASE("the drafter reads prompts too, and keeps up while no drafts are asked for") {
  BatchShape batch;
  batch.chunks.push_back({Tokens{30}, Tokens{0}});
  check_step(cost_with({.model = std::make_shared<RowModel>()}), batch, 30 + 30, host_us);
  BatchShape decode = verification();
  decode.proposing_sequences = decode.proposals = 0;
  check_step(cost_with({.model = std::make_shared<RowModel>()}), decode, target_us + 8, host_us);
  check_step(cost_with({}), decode, target_us, 100);
}

TEST_CASE("an engine that schedules ahead hides the proposer's host time") {
  SpeculativeStepCost cost = cost_with({.model = std::make_shared<RowModel>()}, true);
  const StepPrice price = cost.of(verification());
  CHECK(price.total == Duration::microseconds(target_us + 28 + 44));
  // Alone the target's step is bound by its 100 us of host time.
  CHECK(price.drafting == Duration::microseconds(target_us + 28 + 44 - 100));
  CHECK(price.by_cause.total() == price.total);
}
