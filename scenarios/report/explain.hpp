// Where the time of one step goes, operator by operator: the reasoning of the simulator laid open for one pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/scenario.hpp"
#include "sim/cost/batch_shape.hpp"
#include "sim/cost/price.hpp"

namespace ridgeline {

/// The steps to explain.
struct ExplainedBatch {
  std::int64_t batch = 0;    ///< sequences of the decode step; of an encoder: prompts of its one step
  std::int64_t context = 0;  ///< tokens each sequence sees, the newest included
  std::int64_t prompt = 0;   ///< tokens of the one prompt of the prefill step; of an encoder: of each prompt
};

/// One operator of a step, all its repeats together, per GPU.
struct OperatorRow {
  std::string name;
  std::int64_t repeats = 0;
  Flops flops;
  Bytes weights, kv, activations;
  Duration time;
  Cause bound = Cause::overhead;  ///< what most of the time goes to
  Provenance provenance = Provenance::datasheet;
  bool attention = false;

  [[nodiscard]] Bytes bytes() const { return weights + kv + activations; }
  /// FLOP per byte; 0 when nothing is moved.
  [[nodiscard]] double intensity() const { return bytes().count() > 0 ? flops.count() / bytes().as_double() : 0.0; }
};

struct ExplainedStep {
  std::string name;  ///< "prefill" or "decode"
  BatchShape batch;
  std::vector<OperatorRow> rows;
  OperatorRow sum;          ///< of all rows
  TimeByCause by_cause;     ///< of the operators
  StepPrice step;           ///< as simulated: with CUDA-graph padding and host time
  /// Attention with scores and probabilities going through HBM, as before FlashAttention (Dao et al. 2022, algorithm 0), and
  /// with none of that; both by the roofline at usual efficiencies, so that only the difference in bytes and kernels shows.
  OperatorRow materialised_attention, fused_attention;
};

/// One step of a curve over batch or over prompt length.
struct BatchPoint {
  std::int64_t batch = 0;            ///< sequences or prompts
  std::int64_t tokens = 0;           ///< of context or of prompt, each
  double matrix_intensity = 0.0;     ///< FLOP per byte of the matrix products
  double attention_intensity = 0.0;  ///< of attention
  double intensity = 0.0;            ///< of the whole step
  double mfu = 0.0, mbu = 0.0;       ///< of the datasheet peaks, host time included
  StepPrice step;
  bool fits = true;                  ///< the KV of the batch fits into the cache
};

/// From which batch on decoding is compute-bound.
struct Crossing {
  static constexpr std::int64_t most = 1 << 16;  ///< batches tried
  std::optional<std::int64_t> matrices;  ///< smallest batch at which the matrix products alone reach the ridge; absent: none up to `most`
  std::optional<std::int64_t> step;      ///< at which the whole step does, KV reads included
  std::optional<std::int64_t> fits;      ///< largest batch whose KV fits; absent where the memory is not known
};

struct Explanation {
  Pool pool;
  ExplainedBatch asked;
  DType math = DType::bf16;         ///< of the dense layers
  double ridge_point = 0.0;         ///< FLOP per byte where memory slope and compute roof meet
  Bytes kv_bytes_per_token;         ///< whole model
  Bytes kv_bytes_per_token_per_gpu;
  Bytes kv_bytes;                   ///< of `batch` sequences of `context` tokens, whole model
  Bytes recurrent_state;            ///< of one sequence, on one GPU; hybrids only
  std::vector<ExplainedStep> steps; ///< prefill, then decode; an encoder has no decode step, a model without prices none
  std::vector<BatchPoint> curve;    ///< over batch: decode at the asked context; an encoder's step at the asked prompt length
  std::vector<BatchPoint> prompts;  ///< over prompt length: one prompt; an encoder's asked batch of them
  Crossing crossing;                ///< of decoding
};

/// `pool` has GPU, model and node.
Explanation explain(const Pool& pool, const ExplainedBatch& asked);

/// For people.
std::string explain_text(const Explanation& explanation);
/// For programs; sizes in bytes, times in microseconds.
std::string explain_json(const std::vector<Explanation>& explanations);

}  // namespace ridgeline
