#include "models/transformer.hpp"

#include <algorithm>
#include <string>

#include "models/kv_bytes.hpp"
#include "models/parameters.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

struct Totals {
  double gemm_flops = 0.0;
  double attention_flops = 0.0;
  double weights = 0.0;
  double kv = 0.0;
  double bytes = 0.0;
};

Totals total(const std::vector<Op>& ops) {
  Totals sum;
  for (const Op& op : ops) {
    const double n = static_cast<double>(op.repeats);
    (std::holds_alternative<AttentionShape>(op.shape) ? sum.attention_flops : sum.gemm_flops) += n * op.flops.count();
    sum.weights += n * op.weight_bytes.as_double();
    sum.kv += n * op.kv_bytes.as_double();
    sum.bytes += n * (op.weight_bytes + op.kv_bytes + op.activation_bytes).as_double();
  }
  return sum;
}

BatchShape decode(std::int64_t sequences, std::int64_t context, std::int64_t window = 0) {
  BatchShape batch;
  batch.decode_sequences = batch.sampled_sequences = sequences;
  batch.decode_queries = Tokens{sequences};
  batch.decode_context = Tokens{sequences * context};
  batch.decode_context_in_window = Tokens{sequences * (window > 0 ? std::min(context, window) : context)};
  return batch;
}

BatchShape prefill(std::int64_t tokens) {
  BatchShape batch;
  batch.chunks.push_back({Tokens{tokens}, Tokens{0}});
  batch.sampled_sequences = 1;
  return batch;
}

std::unique_ptr<WorkModel> work_of(const ModelSpec& model, int ranks = 1) {
  return make_transformer(model, {.shard = {.tensor_parallel_size = ranks}, .kv = kv_format("auto", model)});
}

Totals step(const char* name, const BatchShape& batch, int ranks = 1) {
  return total(work_of(load_model(name), ranks)->lower(batch).ops);
}

const Op* find(const std::vector<Op>& ops, const std::string& name) {
  const auto found = std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
  return found == ops.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("claim 6: one decoding step of Llama-2-7B at 4096 tokens does about 1 FLOP per byte") {
  const Totals sum = step("llama-2-7b", decode(1, 4096));
  // GEMM: 2 x (6,738,415,616 - 131,072,000 embedding - 266,240 norms) = 13.2 GFLOP; attention: 4 x 32 x 32 x 128 x 4096
  // = 2.1.
  CHECK(sum.gemm_flops / 1e9 == Approx(13.21).epsilon(0.001));
  CHECK(sum.attention_flops == 4.0 * 32 * 32 * 128 * 4096);
  CHECK(sum.weights / 1e9 == Approx(13.2).epsilon(0.01));
  CHECK(sum.kv == 2.0 * 1073741824.0);
  const double intensity = (sum.gemm_flops + sum.attention_flops) / sum.bytes;
  CHECK(intensity > 0.9);
  CHECK(intensity < 1.1);
}

TEST_CASE("claim 7: Llama-2-70B decodes at about 1 FLOP per byte too, not 107") {
  const Totals sum = step("llama-2-70b", decode(1, 4096));
  const double intensity = (sum.gemm_flops + sum.attention_flops) / sum.bytes;
  CHECK(intensity > 0.9);
  CHECK(intensity < 1.2);
}

TEST_CASE("weights are read once a step, the KV cache once per sequence") {
  const ModelSpec model = load_model("llama-3.1-8b");
  for (const std::int64_t batch : {1, 8, 64}) {
    const Totals sum = step("llama-3.1-8b", decode(batch, 8192));
    // All but the embedding table, of which only rows are read.
    const WeightBytes weights = weight_bytes(model);
    CHECK(sum.weights == (weights.total() - weights.embedding).as_double());
    CHECK(sum.kv == static_cast<double>(batch) * 8192 * 131072);
    CHECK(step("llama-2-7b", decode(batch, 8192)).kv == static_cast<double>(batch) * 8192 * 524288);
  }
  // 8 requests of 8192 tokens on a 70B: 21.5 GB, not 80.
  CHECK(step("llama-3.1-70b", decode(8, 8192)).kv / 1e9 == Approx(21.47).epsilon(0.001));
}

TEST_CASE("attention intensity follows the group size") {
  const auto intensity = [](const char* name) {
    const Totals sum = step(name, decode(16, 8192));
    return sum.attention_flops / sum.kv;
  };
  CHECK(intensity("llama-3.1-8b") == Approx(4.0 * intensity("llama-2-7b")));
}

TEST_CASE("a step is the sum of its three parts") {
  const char* names[] = {"llama-3.1-8b", "gpt-oss-20b", "qwen3-30b-a3b", "deepseek-v3",  "gemma-3-27b",
                         "gpt-j-6b",     "falcon-180b", "opt-13b",       "llama-4-scout"};
  for (const char* name : names) {
    INFO(name);
    const ModelSpec model = load_model(name);
    const std::unique_ptr<WorkModel> work = work_of(model);
    BatchShape batch = decode(7, 3000, model.sliding_window());
    batch.chunks = {{Tokens{500}, Tokens{0}}, {Tokens{64}, Tokens{4096}}};
    std::vector<Op> parts = work->token_ops(batch.tokens());
    std::vector<Op> attention;
    work->attention_ops(batch, attention);
    parts.insert(parts.end(), attention.begin(), attention.end());
    const std::vector<Op> sampling = work->sampling_ops(batch.sampled_sequences);
    parts.insert(parts.end(), sampling.begin(), sampling.end());
    const Totals a = total(parts);
    const Totals b = total(work->lower(batch).ops);
    CHECK(a.gemm_flops == Approx(b.gemm_flops).epsilon(1e-12));
    CHECK(a.attention_flops == Approx(b.attention_flops).epsilon(1e-12));
    CHECK(a.bytes == Approx(b.bytes).epsilon(1e-12));
    // Dense models read all weights but the tables.
    const WeightBytes weights = weight_bytes(model);
    if (!model.moe) {
      const Bytes table = model.tied_embeddings ? weights.positions : weights.embedding + weights.positions;
      CHECK(b.weights == Approx((weights.total() - table).as_double()).epsilon(1e-4));
    }
  }
}

TEST_CASE("linear FLOPs are two per active weight") {
  for (const char* name : {"llama-3.1-8b", "mixtral-8x7b", "deepseek-v3"}) {
    INFO(name);
    const Totals sum = step(name, prefill(1));
    const double linear = linear_flops_per_token(load_model(name)).count();
    CHECK(sum.gemm_flops == Approx(linear).epsilon(1e-9));
  }
  // 2 x 12.75e9 active weights beside the embedding.
  CHECK(linear_flops_per_token(load_model("mixtral-8x7b")).count() / 1e9 == Approx(25.5).epsilon(0.001));
}

TEST_CASE("operators come in the order of execution, layers folded into repeats") {
  const std::vector<Op> ops = work_of(load_model("llama-3.1-8b"), 2)->lower(decode(4, 100)).ops;
  std::vector<std::string> names;
  for (const Op& op : ops) names.emplace_back(op.name);
  CHECK(names == std::vector<std::string>{"embedding", "all_reduce_embedding", "input_norm", "qkv_proj", "rope",
                                          "attention", "o_proj", "all_reduce_attention", "post_attention_norm",
                                          "gate_up_proj", "activation", "down_proj", "all_reduce_mlp", "final_norm",
                                          "lm_head", "all_gather_logits", "sampling"});
  CHECK(find(ops, "qkv_proj")->repeats == 32);
  // (32 + 2 x 8) heads of 128 over two ranks.
  const GemmShape& qkv = std::get<GemmShape>(find(ops, "qkv_proj")->shape);
  CHECK(qkv.m == 4);
  CHECK(qkv.n == 3072);
  CHECK(qkv.k == 4096);
  CHECK(std::get<CollectiveShape>(find(ops, "all_reduce_mlp")->shape).bytes == Bytes{4 * 4096 * 2});
  CHECK(std::get<CollectiveShape>(find(ops, "all_gather_logits")->shape).bytes == Bytes{4 * 128256 * 2});
}

TEST_CASE("only sampled rows reach the head") {
  BatchShape batch = prefill(1000);
  batch.chunks.push_back({Tokens{200}, Tokens{0}});
  const std::vector<Op> ops = work_of(load_model("llama-3.1-8b"))->lower(batch).ops;
  CHECK(std::get<GemmShape>(find(ops, "lm_head")->shape).m == 1);
  CHECK(std::get<GemmShape>(find(ops, "qkv_proj")->shape).m == 1200);
  batch.sampled_sequences = 0;
  CHECK(find(work_of(load_model("llama-3.1-8b"))->lower(batch).ops, "lm_head") == nullptr);
}

TEST_CASE("quantisation changes what is read and what multiplies") {
  const ModelSpec llama = load_model("llama-3.1-8b");
  const auto gemm = [](const ModelSpec& model) {
    return std::get<GemmShape>(find(work_of(model)->lower(decode(1, 100)).ops, "gate_up_proj")->shape);
  };
  const GemmShape fp8 = gemm(with_precision(llama, "fp8"));
  CHECK(fp8.math == DType::fp8);
  CHECK(fp8.quantises_input);
  const GemmShape awq = gemm(with_precision(llama, "awq"));
  CHECK(awq.math == DType::bf16);
  CHECK(awq.weight == DType::int4);
  CHECK(awq.weight_bits == 4.15625);
  CHECK_FALSE(awq.quantises_input);
}

TEST_CASE("experts: memory holds all, a token computes with few, a batch touches more") {
  const ModelSpec model = load_model("mixtral-8x7b");
  CHECK(weight_bytes(model).total().as_double() / 1073741824.0 == Approx(87.0).epsilon(0.001));
  const auto read = [&](std::int64_t batch) { return step("mixtral-8x7b", decode(batch, 10)).weights; };
  CHECK(read(1) < 0.3 * weight_bytes(model).total().as_double());
  CHECK(read(64) > 0.95 * (weight_bytes(model).total() - weight_bytes(model).embedding).as_double());
}

TEST_CASE("sliding layers read their window, full layers everything") {
  const ModelSpec model = load_model("gpt-oss-20b");  // 12 full, 12 sliding over 128
  const Totals sum = step("gpt-oss-20b", decode(1, 10000, 128));
  CHECK(sum.kv == 12.0 * 2048 * (10000 + 128));  // 8 heads x 64 x 2 x 2 B = 2048 B a token and layer
}

TEST_CASE("latent attention reads one latent per token on every rank") {
  CHECK(step("deepseek-v3", decode(4, 1000)).kv == 4.0 * 1000 * 70272);
  CHECK(step("deepseek-v3", decode(4, 1000), 8).kv == 4.0 * 1000 * 70272);
}

TEST_CASE("steady steps reuse the operators' memory") {
  const std::unique_ptr<WorkModel> work = work_of(load_model("gpt-oss-20b"));
  std::vector<Op> ops;
  const BatchShape batch = decode(8, 2000, 128);
  work->attention_ops(batch, ops);
  const Op* first = ops.data();
  for (int i = 0; i < 100; ++i) work->attention_ops(batch, ops);
  CHECK(ops.data() == first);
  CHECK(ops.size() == 2);
}

TEST_CASE("an encoder attends both ways and caches nothing") {
  const ModelSpec bert = load_model("bert-base");
  const std::unique_ptr<WorkModel> work = work_of(bert);
  BatchShape batch = prefill(128);
  const Totals sum = total(work->lower(batch).ops);
  CHECK(sum.kv == 0.0);
  CHECK(sum.attention_flops == 4.0 * 12 * 768 * 128 * 128);  // layers x 4 x width x pairs
}

TEST_CASE("recurrent layers and bad degrees are refused by name") {
  ModelSpec model = load_model("llama-3.1-8b");
  CHECK_THROWS_AS(work_of(model, 3), ConfigError);
  model.recurrent = RecurrentSpec{};
  model.layers.front() = {.attention = AttentionKind::recurrent};
  CHECK_THROWS_AS(work_of(model), ConfigError);
}

}  // namespace ridgeline
