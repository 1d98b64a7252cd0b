#include "sim/cost/speculative_step_cost.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

namespace {

void clip_to_window(BatchShape& batch, std::int64_t window) {
  batch.decode_context_in_window =
      window > 0 ? std::min<Tokens>(batch.decode_context, Tokens{window * batch.decode_sequences}) : batch.decode_context;
}

void add(StepPrice& sum, const StepPrice& pass, std::int64_t times) {
  sum.gpu += pass.gpu * times;
  for (std::size_t i = 0; i < cause_count; ++i) {
    const auto cause = static_cast<Cause>(i);
    sum.by_cause[cause] += pass.by_cause[cause] * times;
  }
  sum.flops += pass.flops * static_cast<double>(times);
  sum.bytes += pass.bytes * times;
}

}  // namespace

SpeculativeStepCost::SpeculativeStepCost(std::unique_ptr<StepCost> target, std::shared_ptr<const DeviceModel> device,
                                         StepCostOptions options, DrafterWork drafter)
    : target_(std::move(target)), work_(std::move(drafter)), overlapped_(options.host.overlapped) {
  if (!work_.model) return;
  options.host = {};
  drafter_ = std::make_unique<ComposedStepCost>(work_.model, std::move(device), std::move(options));
}

StepPrice SpeculativeStepCost::drafting(const BatchShape& batch) {
  StepPrice sum;
  const std::int64_t proposing = batch.proposing_sequences;
  if (!work_.sequential) {
    if (proposing == 0) return sum;
    pass_.clear();
    pass_.sampled_sequences = proposing;
    add(sum, drafter_->of(pass_), 1);
    return sum;
  }

  pass_ = batch;
  pass_.sampled_sequences = proposing;
  pass_.verified_drafts = 0;
  pass_.decode_queries += Tokens{work_.extra_rows * batch.decode_sequences};
  clip_to_window(pass_, work_.window);
  add(sum, drafter_->of(pass_), 1);

  const std::int64_t later = proposing == 0 ? 0 : (work_.tree_depth > 0 ? work_.tree_depth : batch.proposals) - 1;
  if (later <= 0) return sum;
  // Alike but for a token of context each: priced once, at the middle one.
  pass_.clear();
  pass_.decode_sequences = proposing;
  pass_.decode_queries = Tokens{proposing * work_.tree_topk};
  pass_.decode_context = batch.proposing_context + Tokens{proposing * (later + 1) / 2};
  pass_.sampled_sequences = proposing * work_.tree_topk;
  clip_to_window(pass_, work_.window);
  add(sum, drafter_->of(pass_), later);
  return sum;
}

StepPrice SpeculativeStepCost::of(const BatchShape& batch) {
  StepPrice price = target_->of(batch);
  const Duration alone = price.total;
  price.by_cause[Cause::host] -= price.total - price.gpu;
  if (drafter_) add(price, drafting(batch), 1);
  if (drafter_ || batch.proposing_sequences > 0) {
    // Between the levels of a tree its best branches are chosen and their masks built.
    const std::int64_t levels = work_.sequential && batch.proposing_sequences > 0 ? std::max<std::int64_t>(1, work_.tree_depth) : 1;
    price.host += (work_.host.per_step + work_.host.per_sequence * batch.proposing_sequences) * levels;
  }
  price.total = overlapped_ ? std::max<Duration>(price.gpu, price.host) : Duration(price.gpu + price.host);
  price.by_cause[Cause::host] += price.total - price.gpu;
  price.drafting = price.total - alone;
  return price;
}

}  // namespace ridgeline
