#include "scenarios/report/explain.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/device.hpp"
#include "hardware/roofline.hpp"
#include "models/kv_bytes.hpp"
#include "scenarios/build/step_cost.hpp"

namespace ridgeline {

namespace {

BatchShape decode_batch(const ModelSpec& model, std::int64_t batch, std::int64_t context) {
  BatchShape shape;
  shape.decode_sequences = shape.sampled_sequences = batch;
  shape.decode_queries = Tokens{batch};
  shape.decode_context = Tokens{batch * context};
  const std::int64_t window = model.sliding_window();
  shape.decode_context_in_window = Tokens{batch * (window > 0 ? std::min(window, context) : context)};
  return shape;
}

// The same with every draft to verify and the next ones to propose.
BatchShape verify_batch(const Pool& pool, std::int64_t batch, std::int64_t context) {
  BatchShape shape = decode_batch(*pool.model, batch, context);
  const std::int64_t drafts = pool.engine.speculation->num_speculative_tokens;
  shape.decode_queries = Tokens{batch * (1 + drafts)};
  shape.verified_drafts = batch * drafts;
  shape.proposing_sequences = batch;
  shape.proposals = drafts;
  shape.proposing_context = shape.decode_context;
  return shape;
}

BatchShape prefill_batch(std::int64_t prompts, std::int64_t tokens) {
  BatchShape shape;
  shape.chunks.assign(static_cast<std::size_t>(prompts), {.new_tokens = Tokens{tokens}, .history = Tokens{0}});
  shape.sampled_sequences = prompts;
  return shape;
}

Cause largest(const TimeByCause& time) {
  Cause most = Cause::weights;
  for (std::size_t i = 0; i < cause_count; ++i) {
    if (time[static_cast<Cause>(i)] > time[most]) most = static_cast<Cause>(i);
  }
  return most;
}

void add(OperatorRow& sum, const OperatorRow& row) {
  sum.flops += row.flops;
  sum.weights += row.weights;
  sum.kv += row.kv;
  sum.activations += row.activations;
  sum.time += row.time;
}

// Everything needed to price steps of one pool.
struct Pricing {
  std::shared_ptr<const WorkModel> model;
  std::shared_ptr<const DeviceModel> device;
  std::shared_ptr<const DeviceModel> roofline;  // usual efficiencies
  std::shared_ptr<StepCost> step_cost;
};

Pricing make_pricing(const Pool& pool) {
  const Scenario scenario;  // priced by the roofline, whatever the scenario's `cost:` says
  return {make_work_model(pool), make_device(scenario, pool), make_roofline_model(*pool.gpu, usual_roofline), make_step_cost(scenario, pool)};
}

// What attention would move and take by the roofline. `scores_in_hbm`: scores and probabilities of 16 bits each are written and
// read back between three kernels.
void add_attention(OperatorRow& sum, const Op& op, bool scores_in_hbm, const DeviceModel& roofline) {
  const AttentionShape& shape = std::get<AttentionShape>(op.shape);
  Op attention = op;
  Duration kernels;
  if (scores_in_hbm) {
    const double scores = op.flops.count() / (2.0 * static_cast<double>(shape.head_dim + shape.value_dim));
    attention.activation_bytes += Bytes{std::llround(4 * 2.0 * scores)};
    kernels = usual_roofline.fixed * 2;
  }
  sum.flops += op.flops * static_cast<double>(op.repeats);
  sum.kv += op.kv_bytes * op.repeats;
  sum.activations += attention.activation_bytes * op.repeats;
  sum.time += (roofline.price(attention).time + kernels) * op.repeats;
}

ExplainedStep explain_step(const std::string& name, const BatchShape& batch, Pricing& pricing) {
  ExplainedStep step;
  step.name = name;
  step.batch = batch;
  for (const Op& op : pricing.model->lower(step.batch).ops) {
    const OpPrice price = pricing.device->price(op);
    OperatorRow row;
    row.name = op.name;
    row.repeats = op.repeats;
    row.flops = op.flops * static_cast<double>(op.repeats);
    row.weights = op.weight_bytes * op.repeats;
    row.kv = op.kv_bytes * op.repeats;
    row.activations = op.activation_bytes * op.repeats;
    row.time = price.time * op.repeats;
    row.bound = largest(price.by_cause);
    row.provenance = price.provenance;
    row.attention = std::holds_alternative<AttentionShape>(op.shape);
    for (std::size_t i = 0; i < cause_count; ++i) {
      step.by_cause[static_cast<Cause>(i)] += price.by_cause[static_cast<Cause>(i)] * op.repeats;
    }
    add(step.sum, row);
    if (row.attention) {
      add_attention(step.materialised_attention, op, true, *pricing.roofline);
      add_attention(step.fused_attention, op, false, *pricing.roofline);
    }
    step.rows.push_back(std::move(row));
  }
  step.sum.name = "sum";
  step.sum.bound = largest(step.by_cause);
  step.step = pricing.step_cost->of(step.batch);
  return step;
}

double intensity_of(const std::vector<OperatorRow>& rows, bool attention) {
  OperatorRow sum;
  for (const OperatorRow& row : rows) {
    const bool matrix = row.weights.count() > 0 && row.flops.count() > 0;
    if (attention ? row.attention : matrix && !row.attention) add(sum, row);
  }
  return sum.intensity();
}

BatchPoint point_of(const Explanation& e, const ExplainedStep& step, std::int64_t batch, std::int64_t tokens) {
  BatchPoint point{.batch = batch, .tokens = tokens};
  point.matrix_intensity = intensity_of(step.rows, false);
  point.attention_intensity = intensity_of(step.rows, true);
  point.intensity = step.sum.intensity();
  point.step = step.step;
  const double seconds = step.step.total.seconds();
  const GpuSpec& gpu = *e.pool.gpu;
  if (gpu.supports(e.math)) point.mfu = step.step.flops.count() / seconds / gpu.peak(e.math).count();
  point.mbu = step.step.bytes.as_double() / seconds / gpu.memory_bandwidth.count();
  return point;
}

/// Largest decode batch at `context` whose KV fits.
std::optional<std::int64_t> largest_batch(const Pool& pool, std::int64_t context) {
  if (!pool.memory) return std::nullopt;
  const std::int64_t each = pool.memory->layout.blocks_of_request(Tokens{context}, pool.engine.max_num_batched_tokens);
  return each > 0 ? std::max<std::int64_t>(0, (pool.engine.num_gpu_blocks - 1) / each) : Crossing::most;
}

std::vector<BatchPoint> decode_over_batch(const Explanation& e, Pricing& pricing) {
  std::vector<BatchPoint> curve;
  const std::int64_t context = e.asked.context;
  for (std::int64_t batch = 1; batch <= e.pool.engine.max_num_seqs; batch *= 2) {
    const ExplainedStep step = explain_step("decode", decode_batch(*e.pool.model, batch, context), pricing);
    curve.push_back(point_of(e, step, batch, context));
    curve.back().fits = batch <= largest_batch(e.pool, context).value_or(batch);
  }
  return curve;
}

std::vector<BatchPoint> encode_over_batch(const Explanation& e, Pricing& pricing) {
  std::vector<BatchPoint> curve;
  constexpr std::int64_t most = 1024;
  for (std::int64_t batch = 1; batch <= most; batch *= 2) {
    curve.push_back(point_of(e, explain_step("encoding", prefill_batch(batch, e.asked.prompt), pricing), batch, e.asked.prompt));
  }
  return curve;
}

// Powers of two up to what the model takes, or to where nothing changes any more.
std::vector<BatchPoint> over_prompt_length(const Explanation& e, std::int64_t prompts, Pricing& pricing) {
  std::vector<BatchPoint> curve;
  const std::int64_t most = std::min<std::int64_t>(e.pool.engine.max_model_len, 32768);
  for (std::int64_t tokens = 16; tokens <= most; tokens *= 2) {
    curve.push_back(point_of(e, explain_step("prefill", prefill_batch(prompts, tokens), pricing), prompts, tokens));
  }
  return curve;
}

/// Intensity of a decode step, or of its matrix products alone.
double decode_intensity(const Explanation& e, const WorkModel& model, std::int64_t batch, bool matrices_only) {
  Flops flops;
  Bytes bytes;
  for (const Op& op : model.lower(decode_batch(*e.pool.model, batch, e.asked.context)).ops) {
    const bool matrix = op.weight_bytes.count() > 0 && op.flops.count() > 0;
    if (matrices_only && !matrix) continue;
    flops += op.flops * static_cast<double>(op.repeats);
    bytes += (op.weight_bytes + op.kv_bytes + op.activation_bytes) * op.repeats;
  }
  return flops.count() / bytes.as_double();
}

// Intensity grows with the batch, so the first batch at the ridge is found by halving.
std::optional<std::int64_t> first_at_ridge(const Explanation& e, const WorkModel& model, bool matrices_only) {
  const auto reached = [&](std::int64_t batch) { return decode_intensity(e, model, batch, matrices_only) >= e.ridge_point; };
  if (!reached(Crossing::most)) return std::nullopt;
  std::int64_t below = 0, at = Crossing::most;
  while (at - below > 1) {
    const std::int64_t middle = below + (at - below) / 2;
    (reached(middle) ? at : below) = middle;
  }
  return at;
}

void explain_steps(Explanation& explanation, Pricing& pricing) {
  const ModelSpec& model = *explanation.pool.model;
  const ExplainedBatch& asked = explanation.asked;
  if (model.encoder) {
    explanation.steps.push_back(explain_step("encoding", prefill_batch(asked.batch, asked.prompt), pricing));
    explanation.curve = encode_over_batch(explanation, pricing);
    explanation.prompts = over_prompt_length(explanation, asked.batch, pricing);
    return;
  }
  explanation.steps.push_back(explain_step("prefill", prefill_batch(1, asked.prompt), pricing));
  explanation.steps.push_back(explain_step("decode", decode_batch(model, asked.batch, asked.context), pricing));
  explanation.curve = decode_over_batch(explanation, pricing);
  explanation.prompts = over_prompt_length(explanation, 1, pricing);
  explanation.crossing = {first_at_ridge(explanation, *pricing.model, true), first_at_ridge(explanation, *pricing.model, false),
                          largest_batch(explanation.pool, asked.context)};
  if (!explanation.pool.engine.speculation) return;
  Pricing speculative = make_pricing(explanation.pool);
  explanation.steps.push_back(explain_step("verify", verify_batch(explanation.pool, asked.batch, asked.context), speculative));
}

}  // namespace

Explanation explain(const Pool& pool, const ExplainedBatch& asked) {
  Explanation explanation{.pool = pool, .asked = asked};
  const ModelSpec& model = *pool.model;
  explanation.math = model.formats.at(model.layers.front().format[static_cast<std::size_t>(LinearKind::qkv)]).math;
  explanation.ridge_point = pool.gpu->ridge_point(explanation.math);
  if (!model.encoder) {
    explanation.kv_bytes_per_token = kv_bytes_per_token(model, pool.kv);
    explanation.kv_bytes_per_token_per_gpu = kv_bytes_per_token(model, pool.kv, pool.shard());
    explanation.kv_bytes = kv_bytes_of_sequence(model, pool.kv, Tokens{asked.context}) * asked.batch;
    explanation.recurrent_state = recurrent_state_bytes(model, pool.shard());
  }
  std::optional<Pricing> pricing;
  try {
    Pool plain = pool;
    plain.engine.speculation.reset();
    pricing = make_pricing(plain);
  } catch (const ConfigError&) {
    return explanation;  // layers without a price: what loading the pool warned of
  }
  explain_steps(explanation, *pricing);
  return explanation;
}

}  // namespace ridgeline
