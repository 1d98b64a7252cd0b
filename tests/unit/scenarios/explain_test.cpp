// What people say about inference and memory bandwidth, settled by `explain`.
#include "scenarios/report/explain.hpp"

#include "scenarios/load/resolve_pool.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

Explanation explained(const std::string& pool_yaml, ExplainedBatch batch) {
  Diagnostics errors;
  std::vector<Diagnostic> warnings;
  const ResolvedPool resolved = resolve_pool(Config::parse(pool_yaml, "pool"), 0, CostConfig{}, errors, warnings, FitRule::warn);
  errors.throw_if_any();
  return explain(resolved.pool, batch);
}

const ExplainedStep& prefill(const Explanation& e) { return e.steps.at(0); }
const ExplainedStep& decode(const Explanation& e) { return e.steps.at(1); }

OperatorRow sum_of(const ExplainedStep& step, bool attention) {
  OperatorRow sum;
  for (const OperatorRow& row : step.rows) {
    if (row.attention != attention) continue;
    sum.flops += row.flops;
    sum.weights += row.weights;
    sum.kv += row.kv;
  }
  return sum;
}

}  // namespace

TEST_CASE("KV bytes of Llama-2-7B: 0.5 MiB a token") {
  // 2 (K and V) x 32 layers x 32 heads x 128 x 2 B = 524,288 B; times 2,048 tokens = 1 GiB.
  struct Row {
    std::int64_t tokens, batch, gib;
  };
  for (const Row& row : {Row{2048, 1, 1}, Row{4096, 1, 2}, Row{32768, 1, 16}, Row{2048, 8, 8}, Row{4096, 8, 16}, Row{32768, 8, 128}}) {
    const Explanation e = explained("{model: llama-2-7b, gpu: a100-sxm-80gb, engine: {dtype: float16}}", {row.batch, row.tokens, 128});
    CHECK(e.kv_bytes_per_token == Bytes{524'288});
    CHECK(e.kv_bytes == Bytes{row.gib << 30});
  }
}

TEST_CASE("Grouped queries: Llama-2-70B has 8 KV heads, not 64") {
  // 2 x 80 x 8 x 128 x 2 B = 327,680 B a token: 1.25 GiB at 4,096 tokens.
  const Explanation e = explained("{model: llama-2-70b, gpu: h100-sxm-80gb, engine: {tensor_parallel_size: 8}}", {1, 4096, 128});
  CHECK(e.kv_bytes == Bytes{5LL << 28});
}

TEST_CASE("Ridge points") {
  // 989 TFLOP/s over 3.35 TB/s; 312 over 2.04.
  CHECK(explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 512, 128}).ridge_point == Approx(295).epsilon(0.01));
  CHECK(explained("{model: llama-2-7b, gpu: a100-sxm-80gb}", {1, 512, 128}).ridge_point == Approx(153).epsilon(0.02));
}

TEST_CASE("Intensity grows with the batch for weights, not for attention") {
  const Explanation e = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 4096, 128});
  REQUIRE(e.curve.size() >= 8);
  CHECK(e.curve[0].matrix_intensity == Approx(1.0).epsilon(0.01));
  // b = 128 over 4,096-wide matrices: 2mnb / (2mn + 2b(m+n)) is a few per cent below b.
  CHECK(e.curve[7].matrix_intensity > 115);
  CHECK(e.curve[7].matrix_intensity < 128);
  CHECK(e.curve[7].attention_intensity == Approx(e.curve[0].attention_intensity).epsilon(0.05));
}

TEST_CASE("Decode of Llama-2-7B at 4,096 tokens: about 1 FLOP a byte") {
  // GEMMs: 2 x 6.6e9 weights = 13.2 to 13.5 GFLOP over 13.2 to 13.5 GB. Attention: 4 x 4,096 x 4,096 x 32 = 2.1 GFLOP over 2.1 GB.
  const Explanation e = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 4096, 128});
  const OperatorRow attention = sum_of(decode(e), true);
  const OperatorRow rest = sum_of(decode(e), false);
  CHECK(rest.flops.count() == Approx(13.4e9).epsilon(0.03));
  CHECK(rest.weights.as_double() == Approx(13.4e9).epsilon(0.03));
  CHECK(attention.flops.count() == Approx(2.15e9).epsilon(0.03));
  CHECK(attention.kv.as_double() == Approx(2.15e9).epsilon(0.03));
  CHECK(decode(e).sum.intensity() == Approx(1.0).epsilon(0.05));
}

TEST_CASE("Decode of Llama-2-70B: about 1 FLOP a byte as well") {
  const Explanation e = explained("{model: llama-2-70b, gpu: h100-sxm-80gb, engine: {tensor_parallel_size: 4}}", {1, 4096, 128});
  CHECK(decode(e).sum.intensity() == Approx(1.0).epsilon(0.15));
}

TEST_CASE("With KV reads a decode step stays memory-bound at every batch that fits") {
  const Explanation e = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 4096, 128});
  for (const BatchPoint& point : e.curve) {
    if (point.fits) CHECK(point.intensity < e.ridge_point);
  }
}

TEST_CASE("It takes about 295 sequences to make the matrices compute-bound on an H100, and none that fit for the step") {
  // A matrix of m x n: 2mnb / (2mn + 2b(m + n)) = 295 needs b = 295 / (1 - 295 (m + n) / mn); 345 for the 4,096 x 4,096 of o_proj,
  // less for the wider ones. Attention stays near 1 FLOP/B (multi-head), near 8 with groups of 8.
  const Explanation mha = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 4096, 128});
  REQUIRE(mha.crossing.matrices);
  CHECK(*mha.crossing.matrices > 295);
  CHECK(*mha.crossing.matrices < 345);
  CHECK_FALSE(mha.crossing.step);
  const Explanation gqa = explained("{model: llama-2-70b, gpu: h100-sxm-80gb, engine: {tensor_parallel_size: 4}}", {1, 4096, 128});
  REQUIRE(gqa.crossing.fits);
  CHECK_FALSE(gqa.crossing.step);
  // Without context there is no KV to speak of: the step crosses soon after its matrices.
  const Explanation bare = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 1, 128});
  REQUIRE(bare.crossing.step);
  CHECK(*bare.crossing.step >= *bare.crossing.matrices);
}

TEST_CASE("An encoder is compute-bound where a decoder is not") {
  // BERT-large at 512 tokens: every weight serves 512 rows a prompt. Intensity lies near or beyond the ridge from the first batches on,
  // and most of the time is compute; the decode step of a 7B model stands at 1.
  const Explanation bert = explained("{model: bert-large, gpu: a100-sxm-80gb}", {16, 512, 512});
  CHECK(bert.steps.at(0).batch.chunks.size() == 16);
  CHECK(bert.steps.at(0).sum.bound == Cause::compute);
  REQUIRE(bert.curve.size() == 11);
  CHECK(bert.curve.back().intensity > bert.ridge_point);
  CHECK(bert.curve.back().mfu > 0.4);
  CHECK(bert.prompts.front().tokens == 16);
  CHECK(bert.prompts.back().tokens == 512);
  CHECK(explain_text(bert).find("encoding over batch") != std::string::npos);
  CHECK(explain_json({bert}).find("encoding_over_length") != std::string::npos);
}

TEST_CASE("Short prompts are memory-bound") {
  const Explanation e = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {1, 4096, 128});
  CHECK(e.prompts.front().intensity < e.ridge_point);
  CHECK(e.prompts.back().intensity > e.ridge_point);
  CHECK(e.curve.front().mfu < 0.02);
  CHECK(e.curve.front().mbu > 0.5);
}

TEST_CASE("An A100 80GB holds about 28 sequences of 4,096 tokens of a 7B model") {
  const Explanation e = explained("{model: llama-2-7b, gpu: a100-sxm-80gb, engine: {dtype: float16, profile: vllm-0.11}}", {1, 4096, 128});
  REQUIRE(e.pool.memory);
  CHECK(e.pool.memory->max_concurrency == Approx(28).margin(1.5));
}

TEST_CASE("Prefill is bound by compute, decode by memory") {
  const Explanation e = explained("{model: llama-3.1-8b, gpu: h100-sxm-80gb}", {1, 4096, 4096});
  CHECK(prefill(e).sum.bound == Cause::compute);
  CHECK(decode(e).sum.bound == Cause::weights);
}

TEST_CASE("From A100 to H100 decode gains the bandwidth, prefill the compute") {
  const Explanation a100 = explained("{model: llama-2-7b, gpu: a100-sxm-80gb}", {8, 2048, 4096});
  const Explanation h100 = explained("{model: llama-2-7b, gpu: h100-sxm-80gb}", {8, 2048, 4096});
  const double gain_decode = decode(a100).sum.time.as_double() / decode(h100).sum.time.as_double();
  const double gain_prefill = prefill(a100).sum.time.as_double() / prefill(h100).sum.time.as_double();
  CHECK(gain_decode > 1.4);
  CHECK(gain_decode < 1.9);
  CHECK(gain_prefill > 2.2);
  CHECK(gain_prefill < 3.3);
}

TEST_CASE("KV read in a decode step: batch x context x bytes of a token") {
  for (const std::int64_t batch : {1, 16, 64}) {
    const Explanation gqa = explained("{model: llama-3.1-8b, gpu: h100-sxm-80gb}", {batch, 8192, 128});
    const double kv = sum_of(decode(gqa), true).kv.as_double();
    CHECK(kv == Approx(static_cast<double>(batch * 8192 * 131'072)).epsilon(0.01));
  }
}

TEST_CASE("Texts of an explanation") {
  const Explanation e = explained("{model: llama-3.1-8b, gpu: h100-sxm-80gb}", {4, 2048, 2048});
  const std::string text = explain_text(e);
  for (const char* part : {"ridge point", "memory of one GPU", "prefill step", "decode step", "as simulated", "decode over batch"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(explain_json({e}).find("\"kv_bytes_per_token\": 131072") != std::string::npos);
}
