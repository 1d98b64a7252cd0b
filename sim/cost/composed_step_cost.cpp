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

void ComposedStepCost::add(Part& sum, const Part& part) {
  sum.by_cause += part.by_cause;
  sum.flops += part.flops, sum.bytes += part.bytes;
  sum.launches += part.launches;
}

namespace {

/// One row and one sample for each sequence, no piece of a prompt, no window that cuts their contexts.
bool merely_decodes(const BatchShape& batch) {
  const bool whole = batch.decode_context_in_window == Tokens{} || batch.decode_context_in_window == batch.decode_context;
  return batch.chunks.empty() && batch.decode_queries.count() == batch.decode_sequences && batch.padding == Tokens{} &&
         batch.sampled_sequences == batch.decode_sequences && batch.verified_drafts == 0 && whole &&
         batch.decode_sequences > 0;
}

}  // namespace

StepPrice ComposedStepCost::of(const BatchShape& batch) {
  if (merely_decodes(batch)) return decode_price(batch);
  if (!PriceMemo::takes(batch)) return price_of(batch);
  const PriceMemo::Place place = memo_.find(batch);
  if (!place.known) place.price = price_of(batch);
  return place.price;
}

StepPrice ComposedStepCost::decode_price(const BatchShape& batch) {
  const std::int64_t sequences = batch.decode_sequences;
  const DecodeInterval& interval = decode_interval(sequences, batch.decode_context.count() / sequences);
  const auto tokens = static_cast<double>(batch.decode_context.count() - interval.context);
  Part sum = interval.lower;
  for (std::size_t i = 0; i < cause_count; ++i) {
    Duration& part = sum.by_cause[static_cast<Cause>(i)];
    part = Duration{part.count() + static_cast<std::int64_t>(interval.picoseconds_per_token[i] * tokens)};
  }
  sum.flops += Flops{interval.flops_per_token * tokens};
  sum.bytes += Bytes{static_cast<std::int64_t>(interval.bytes_per_token * tokens)};
  return finish(sum, sequences, sequences);
}

const ComposedStepCost::DecodeInterval& ComposedStepCost::decode_interval(std::int64_t sequences, std::int64_t mean_context) {
  const ContextKnots::Interval place = ContextKnots::around(mean_context);
  const auto row = static_cast<std::size_t>(sequences);
  if (row >= decode_intervals_.size()) decode_intervals_.resize(row + 1);
  std::vector<DecodeInterval>& intervals = decode_intervals_[row];
  if (place.index >= intervals.size()) intervals.resize(place.index + 1);
  DecodeInterval& interval = intervals[place.index];
  if (interval.known) return interval;

  interval.lower = decode_parts(sequences, place.lower);
  const Part upper = decode_parts(sequences, place.lower + place.spacing);
  const auto tokens = static_cast<double>(sequences * place.spacing);
  for (std::size_t i = 0; i < cause_count; ++i) {
    const auto cause = static_cast<Cause>(i);
    interval.picoseconds_per_token[i] = Duration{upper.by_cause[cause] - interval.lower.by_cause[cause]}.as_double() / tokens;
  }
  interval.flops_per_token = (upper.flops - interval.lower.flops).count() / tokens;
  interval.bytes_per_token = (upper.bytes - interval.lower.bytes).as_double() / tokens;
  interval.context = sequences * place.lower;
  interval.known = true;
  return interval;
}

ComposedStepCost::Part ComposedStepCost::decode_parts(std::int64_t sequences, std::int64_t context) {
  BatchShape batch;
  batch.decode_sequences = batch.sampled_sequences = sequences;
  batch.decode_queries = Tokens{sequences};
  batch.decode_context = batch.decode_context_in_window = Tokens{sequences * context};
  return parts_of(batch);
}

ComposedStepCost::Part ComposedStepCost::parts_of(const BatchShape& batch) {
  Part sum = token_part(batch.tokens().count());
  if (batch.logit_rows() > 0) add(sum, sampling_part(batch.logit_rows()));
  model_->attention_ops(batch, attention_);
  for (const Op& op : attention_) {
    add(sum, op, device_->price(op));
    sum.flops += flops_of(op), sum.bytes += bytes_of(op);
  }
  return sum;
}

StepPrice ComposedStepCost::price_of(const BatchShape& batch) {
  return finish(parts_of(batch), batch.tokens().count(), batch.decode_sequences + static_cast<std::int64_t>(batch.chunks.size()));
}

StepPrice ComposedStepCost::finish(const Part& sum, std::int64_t tokens, std::int64_t sequences) const {
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
  price.host = options_.host.per_step + options_.host.per_sequence * sequences;
  price.total = options_.host.overlapped ? std::max<Duration>(price.gpu, price.host) : Duration(price.gpu + price.host);
  price.by_cause[Cause::host] += price.total - price.gpu;
  return price;
}

}  // namespace ridgeline
