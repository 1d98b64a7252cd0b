#include "scenarios/plan/replica_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "scenarios/build/step_cost.hpp"

namespace ridgeline {

namespace {

constexpr double unbounded = unbounded_capacity;

// Kernel prices are not quite affine in what they compute; the best batch between the tried ones may be this much better.
constexpr double slack = 0.97;

double seconds_of(const std::vector<Op>& ops, const DeviceModel& device) {
  Duration sum;
  for (const Op& op : ops) sum += device.price(op).time * op.repeats;
  return sum.seconds();
}

// 1, 2, 4, … and `most` in 32 equal parts.
std::set<std::int64_t> tried_sizes(std::int64_t most) {
  std::set<std::int64_t> sizes{most};
  for (std::int64_t size = 1; size < most; size *= 2) sizes.insert(size);
  for (std::int64_t part = 1; part < 32; ++part) sizes.insert(std::max<std::int64_t>(1, most * part / 32));
  return sizes;
}

BatchShape prompt_step(Tokens tokens, Tokens history, bool ends) {
  BatchShape batch;
  batch.chunks.push_back({tokens, history});
  batch.sampled_sequences = ends ? 1 : 0;
  return batch;
}

BatchShape decode_step(std::int64_t sequences, double context, std::int64_t window) {
  BatchShape batch;
  batch.decode_sequences = batch.sampled_sequences = sequences;
  batch.decode_queries = Tokens{sequences};
  const auto visible = std::max<std::int64_t>(1, std::llround(context));
  batch.decode_context = Tokens{sequences * visible};
  batch.decode_context_in_window = Tokens{sequences * (window > 0 ? std::min(window, visible) : visible)};
  return batch;
}

class Bounding {
 public:
  Bounding(const Scenario& scenario, const Pool& pool, const Demand& demand)
      : scenario_(scenario), pool_(pool), demand_(demand), engine_(pool.engine), step_cost_(make_step_cost(scenario, pool)) {
    const bool sglang = engine_.scheduler == "sglang";
    rows_ = std::max(sglang ? engine_.max_prefill_tokens : engine_.max_num_batched_tokens, engine_.max_num_seqs);
    chunk_ = sglang && engine_.chunked_prefill_size > 0 ? engine_.chunked_prefill_size
             : engine_.enable_chunked_prefill           ? engine_.max_num_batched_tokens
                                                        : rows_;
    window_ = pool.model ? pool.model->sliding_window() : 0;
    decodes_ = std::max(0.0, demand.mean_output - 1);
  }

  ReplicaBounds bounds() {
    ReplicaBounds bounds;
    bounds.held = held();
    bounds.ttft = prefill_alone();
    // Accepted drafts and dropped KV make tokens cheaper than their shapes say.
    const bool cheaper_tokens = engine_.speculation || engine_.kv_eviction.on();
    bounds.tpot = cheaper_tokens ? Duration{} : step_cost_->of(decode_step(1, demand_.mean_input, window_)).total;
    bounds.e2el = bounds.tpot * std::max<std::int64_t>(0, demand_.tail_output.count() - 1);
    if (demand_.knob == LoadKnob::max_concurrency) {
      bounds.capacity = bounds.held;
      bounds.limited_by = "KV memory";
      return bounds;
    }
    bounds.capacity = unbounded;
    const auto cap = [&](double rate, const char* reason) {
      if (rate < bounds.capacity) bounds.capacity = rate, bounds.limited_by = reason;
    };
    if (!cheaper_tokens) cap(scenario_.cost.kind == CostKind::constant ? constant_rate() : work_rate(), "work");
    if (!cheaper_tokens && decodes_ > 0) {
      cap(decode_rate(std::nullopt) / decodes_, "batch");
      if (const auto limit = token_limit()) cap(decode_rate(limit) / decodes_ / share_of(scenario_.slo), "TPOT");
    }
    return bounds;
  }

 private:
  std::optional<Duration> token_limit() const {
    const Slo& slo = scenario_.slo;
    if (slo.tpot && slo.itl) return std::min(*slo.tpot, *slo.itl);
    return slo.tpot ? slo.tpot : slo.itl;
  }

  double held() const {
    if (!pool_.memory) return static_cast<double>(engine_.max_num_seqs);
    const std::int64_t blocks = pool_.memory->layout.blocks_of_request(demand_.longest, engine_.max_num_batched_tokens);
    const double fit = static_cast<double>(engine_.num_gpu_blocks - 1) / static_cast<double>(std::max<std::int64_t>(1, blocks));
    return std::min(fit, static_cast<double>(engine_.max_num_seqs));
  }

  // The prompt in pieces of the token budget, nothing else running.
  Duration prefill_alone() {
    Duration time;
    Tokens done;
    while (done < demand_.tail_input) {
      const Tokens piece = std::min(Tokens{chunk_}, demand_.tail_input - done);
      time += step_cost_->of(prompt_step(piece, done, done + piece == demand_.tail_input)).total;
      done += piece;
    }
    return time;
  }

  // Steps of one length, whatever is in them: rows and sequences are what is scarce.
  double constant_rate() const {
    const double per_step = std::min(static_cast<double>(rows_) / (demand_.mean_input + decodes_),
                                     static_cast<double>(engine_.max_num_seqs) / std::max(1.0, demand_.mean_output));
    return per_step / scenario_.cost.step_time.seconds();
  }

  double work_rate() {
    const auto model = make_work_model(pool_);
    const auto device = make_device(scenario_, pool_);
    double row = unbounded, sample = unbounded, decode = unbounded;
    for (const std::int64_t size : tried_sizes(rows_)) {
      row = std::min(row, seconds_of(model->token_ops(Tokens{size}), *device) / static_cast<double>(size));
    }
    std::vector<Op> ops;
    for (const std::int64_t size : tried_sizes(engine_.max_num_seqs)) {
      sample = std::min(sample, seconds_of(model->sampling_ops(size), *device) / static_cast<double>(size));
      const BatchShape batch = decode_step(size, demand_.mean_context, window_);
      model->attention_ops(batch, ops);
      decode = std::min(decode, seconds_of(ops, *device) / static_cast<double>(size));
    }
    const double work = (demand_.mean_input + decodes_) * row + demand_.mean_output * sample + decodes_ * decode +
                        prompt_attention(*model, *device);
    return 1.0 / (work * slack);
  }

  // Of one prompt of mean length, alone or packed with as many as a step holds.
  double prompt_attention(const WorkModel& model, const DeviceModel& device) const {
    const auto tokens = std::max<std::int64_t>(1, std::llround(demand_.mean_input));
    double least = unbounded;
    std::vector<Op> ops;
    for (const std::int64_t prompts : {std::int64_t{1}, std::max<std::int64_t>(1, rows_ / tokens)}) {
      BatchShape batch;
      for (std::int64_t i = 0; i < prompts; ++i) batch.chunks.push_back({Tokens{tokens}, Tokens{}});
      model.attention_ops(batch, ops);
      least = std::min(least, seconds_of(ops, device) / static_cast<double>(prompts));
    }
    return least;
  }

  // Output tokens per second of decode steps alone, at the best batch that fits the memory and takes at most `limit` a step.
  double decode_rate(const std::optional<Duration>& limit) {
    double batch_most = static_cast<double>(engine_.max_num_seqs);
    const bool whole_context_kept = window_ == 0 && pool_.model && !pool_.model->recurrent && !scenario_.workload.shared_prefix;
    if (whole_context_kept && demand_.mean_input > 1) {
      const double tokens = static_cast<double>((engine_.num_gpu_blocks - 1) * engine_.block_size);
      batch_most = std::min(batch_most, std::max(1.0, tokens / demand_.mean_context));
    }
    double best = 0.0;
    for (const std::int64_t size : tried_sizes(static_cast<std::int64_t>(batch_most))) {
      const Duration step = step_cost_->of(decode_step(size, demand_.mean_context, window_)).total;
      // Between the tried sizes: the next larger batch might still keep the limit, so it is judged by its predecessor's rate.
      if (limit && step > *limit) {
        if (size > 1) best = std::max(best, static_cast<double>(size) / limit->seconds());
        break;
      }
      best = std::max(best, static_cast<double>(size) / step.seconds());
    }
    return best / slack;
  }

  const Scenario& scenario_;
  const Pool& pool_;
  const Demand& demand_;
  const EngineConfig& engine_;
  std::shared_ptr<StepCost> step_cost_;
  std::int64_t rows_ = 0;    // of a step at most
  std::int64_t chunk_ = 0;   // of one prompt in a step at most
  std::int64_t window_ = 0;  // tokens; 0 = full attention
  double decodes_ = 0.0;     // decode steps a request
};

}  // namespace

ReplicaBounds replica_bounds(const Scenario& scenario, const Pool& pool, const Demand& demand) {
  return Bounding(scenario, pool, demand).bounds();
}

}  // namespace ridgeline
