#include "sim/cost/composed_step_cost.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

ComposedStepCost::ComposedStepCost(std::shared_ptr<const WorkModel> model, std::shared_ptr<const DeviceModel> device,
                                   StepCostOptions options)
    : model_(std::move(model)), device_(std::move(device)), options_(std::move(options)) {}

std::int64_t ComposedStepCost::padded(std::int64_t tokens) const {
  const auto size = std::lower_bound(options_.graph_sizes.begin(), options_.graph_sizes.end(), tokens);
  return size == options_.graph_sizes.end() ? tokens : *size;
}

void ComposedStepCost::add(Part& part, const Op& op, const OpPrice& price) {
  for (std::size_t i = 0; i < cause_count; ++i) {
    const auto cause = static_cast<Cause>(i);
    part.by_cause[cause] += price.by_cause[cause] * op.repeats;
  }
  part.launches += op.repeats;
}

ComposedStepCost::Part& ComposedStepCost::slot(std::vector<Part>& parts, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  if (i >= parts.size()) parts.resize(i + 1);
  return parts[i];
}

namespace {

Bytes bytes_of(const Op& op) { return (op.weight_bytes + op.kv_bytes + op.activation_bytes) * op.repeats; }
Flops flops_of(const Op& op) { return op.flops * static_cast<double>(op.repeats); }

}  // namespace

const ComposedStepCost::Part& ComposedStepCost::token_part(std::int64_t tokens) {
  Part& part = slot(token_parts_, tokens);
  if (part.known) return part;
  // Padded rows take time but are no useful work: time from the padded shape, FLOPs and bytes from the real one.
  for (const Op& op : model_->token_ops(Tokens{padded(tokens)})) add(part, op, device_->price(op));
  for (const Op& op : model_->token_ops(Tokens{tokens})) part.flops += flops_of(op), part.bytes += bytes_of(op);
  part.known = true;
  return part;
}

const ComposedStepCost::Part& ComposedStepCost::sampling_part(std::int64_t rows) {
  Part& part = slot(sampling_parts_, rows);
  if (part.known) return part;
  for (const Op& op : model_->sampling_ops(rows)) {
    add(part, op, device_->price(op));
    part.flops += flops_of(op), part.bytes += bytes_of(op);
  }
  part.known = true;
  return part;
}

StepPrice ComposedStepCost::of(const BatchShape& batch) {
  if (!PriceMemo::takes(batch)) return price_of(batch);
  const PriceMemo::Place place = memo_.find(batch);
  if (!place.known) place.price = price_of(batch);
  return place.price;
}

StepPrice ComposedStepCost::price_of(const BatchShape& batch) {
  const std::int64_t tokens = batch.tokens().count();
  Part sum = token_part(tokens);
  if (batch.logit_rows() > 0) {
    const Part& sampling = sampling_part(batch.logit_rows());
    sum.by_cause += sampling.by_cause;
    sum.flops += sampling.flops, sum.bytes += sampling.bytes;
    sum.launches += sampling.launches;
  }
  model_->attention_ops(batch, attention_);
  for (const Op& op : attention_) {
    add(sum, op, device_->price(op));
    sum.flops += flops_of(op), sum.bytes += bytes_of(op);
  }

  StepPrice price{.by_cause = sum.by_cause, .flops = sum.flops, .bytes = sum.bytes};
  price.gpu = sum.by_cause.total();
  const bool graphed = !options_.graph_sizes.empty() && tokens <= options_.graph_sizes.back();
  if (!graphed) {
    const Duration launching = options_.eager_launch * sum.launches;
    if (launching > price.gpu) {
      price.by_cause[Cause::host] += launching - price.gpu;
      price.gpu = launching;
    }
  }
  const auto sequences = batch.decode_sequences + static_cast<std::int64_t>(batch.chunks.size());
  price.host = options_.host.per_step + options_.host.per_sequence * sequences;
  price.total = options_.host.overlapped ? std::max<Duration>(price.gpu, price.host) : Duration(price.gpu + price.host);
  price.by_cause[Cause::host] += price.total - price.gpu;
  return price;
}

}  // namespace ridgeline
