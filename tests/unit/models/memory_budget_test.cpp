#include "models/memory_budget.hpp"

#include <string>

#include "models/memory_terms.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

double gib(Bytes bytes) { return bytes.as_double() / 1073741824.0; }
Bytes from_gib(double value) { return Bytes{static_cast<std::int64_t>(value * 1073741824.0)}; }

/// vLLM 0.11 server defaults on an H100 as the driver reports it.
MemoryRequest h100(double utilization = 0.9) {
  return {.total_memory = from_gib(79.18),
          .gpu_memory_utilization = utilization,
          .kv_cache_memory = {},
          .max_num_batched_tokens = 8192,
          .max_num_seqs = 1024,
          .max_model_len = 16000,
          .block_size = 16,
          .kv = {},
          .shard = {},
          .nodes = 1,
          .age = EngineAge::vllm_v1,
          .enforce_eager = false,
          .sampler = {}};
}

MemoryRequest a100(double utilization, int ranks) {
  MemoryRequest request = h100(utilization);
  request.total_memory = from_gib(79.25);
  request.max_num_batched_tokens = 2048;
  request.max_num_seqs = 256;
  request.max_model_len = 16384;
  request.shard.tensor_parallel_size = ranks;
  return request;
}

/// Qwen2-7B has the dimensions of Qwen2.5-7B.
constexpr const char* qwen2_7b = "qwen2.5-7b";

std::string refusal(const ModelSpec& model, const MemoryRequest& request) {
  try {
    require_fits(model, request, memory_budget(model, request));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& message, const std::string& word) { return message.find(word) != std::string::npos; }

}  // namespace

TEST_CASE("budgets on an H100 as logged by vLLM 0.11") {
  // llm-d-planner docs/empirical-vllm-memory-results.md: weights, activation peak and KV in GiB. gpt-oss-120b needs
  // 0.95.
  struct Row {
    const char* model;
    double utilization, weights, activations, kv;
  };
  for (const Row& row : {Row{"llama-3.1-8b", 0.9, 14.99, 4.76, 51.38}, Row{"qwen3-0.6b", 0.9, 1.12, 5.56, 64.45},
                         Row{"qwen3-32b", 0.9, 61.03, 5.64, 4.45}, Row{"gpt-oss-20b", 0.9, 13.47, 7.38, 50.28},
                         Row{"gpt-oss-120b", 0.95, 64.38, 7.38, 3.33}}) {
    INFO(row.model);
    const MemoryBudget budget = memory_budget(load_model(row.model), h100(row.utilization));
    CHECK(gib(budget.weights.total()) == Approx(row.weights).epsilon(0.01));
    CHECK(gib(budget.activations) == Approx(row.activations).epsilon(0.02));
    CHECK(gib(budget.kv) == Approx(row.kv).epsilon(0.05));
  }
}

TEST_CASE("budgets of Qwen2-7B on A100s as logged by vLLM 0.10.1.1") {
  // github dennislee22/vLLM-benchmarking log/: tokens at two utilisations and at TP2.
  const ModelSpec model = load_model(qwen2_7b);
  CHECK(memory_budget(model, a100(0.25, 1)).kv_tokens.count() == Approx(93872).epsilon(0.05));
  CHECK(memory_budget(model, a100(0.5, 1)).kv_tokens.count() == Approx(464848).epsilon(0.05));
  CHECK(memory_budget(model, a100(0.25, 2)).kv_tokens.count() == Approx(450192).epsilon(0.05));
  MemoryRequest small = a100(0.5, 2);
  small.nodes = 2;
  small.total_memory = from_gib(39.39);
  CHECK(memory_budget(model, small).kv_tokens.count() == Approx(412944).epsilon(0.05));
}

TEST_CASE("budgets on H100 and H200 of other models and versions") {
  // sim-to-real-accuracy-validation, vLLM 0.15.1, H100: Llama-2-7B 119408 tokens, Mixtral-8x7B TP2 440176.
  MemoryRequest request = h100();
  request.max_num_batched_tokens = 2048;
  request.max_num_seqs = 128;
  request.max_model_len = 4096;
  CHECK(memory_budget(load_model("llama-2-7b"), request).kv_tokens.count() == Approx(119408).epsilon(0.05));
  request.shard.tensor_parallel_size = 2;
  CHECK(memory_budget(load_model("mixtral-8x7b"), request).kv_tokens.count() == Approx(440176).epsilon(0.05));
  // inference-sim vllm-data-collection: Qwen3-14B, mean of budgets from 1024 to 4096: 17029 blocks.
  request = h100();
  request.max_num_batched_tokens = 2048;
  request.max_num_seqs = 256;
  CHECK(memory_budget(load_model("qwen3-14b"), request).num_gpu_blocks == Approx(17029).epsilon(0.05));
  // llm-d-benchmark#345: Llama-3.3-70B-FP8 on an H200: 67.72 GiB of weights, 174336 tokens, 1.33x.
  request = h100();
  request.total_memory = from_gib(139.81);
  request.max_model_len = 131072;
  const ModelSpec fp8 = with_precision(load_model("llama-3.1-70b"), "ptpc_fp8");
  const MemoryBudget budget = memory_budget(fp8, request);
  CHECK(gib(budget.weights.total()) == Approx(67.72).epsilon(0.01));
  CHECK(budget.kv_tokens.count() == Approx(174336).epsilon(0.05));
  CHECK(budget.max_concurrency == Approx(1.33).epsilon(0.05));
  request.kv_cache_memory = from_gib(53.20);  // as printed, rounded
  CHECK(memory_budget(fp8, request).kv_tokens.count() == Approx(174336).epsilon(0.001));
}

TEST_CASE("CUDA graphs are deducted by later engines") {
  // casys-kaist/LLMServingSim#59: Llama-3.1-8B on an RTX 4090, vLLM 0.19: 2588 blocks.
  MemoryRequest request = h100();
  request.total_memory = Bytes{25'250'627'584};
  request.max_num_batched_tokens = 2048;
  request.max_num_seqs = 256;
  request.age = EngineAge::vllm_main_2026;
  const ModelSpec model = load_model("llama-3.1-8b");
  CHECK(memory_budget(model, request).num_gpu_blocks == Approx(2588).epsilon(0.10));
  // gpt-oss-120b on H200s, vLLM 0.22.1: 114.85 GiB at TP8, 106.27 GiB at TP4; graph capture up to 2048 tokens.
  request = h100();
  request.total_memory = from_gib(139.81);
  request.max_num_seqs = 64;
  request.max_model_len = 2068;
  request.age = EngineAge::vllm_main_2026;
  request.shard.tensor_parallel_size = 8;
  CHECK(gib(memory_budget(load_model("gpt-oss-120b"), request).kv) == Approx(114.85).epsilon(0.03));
  request.shard.tensor_parallel_size = 4;
  CHECK(gib(memory_budget(load_model("gpt-oss-120b"), request).kv) == Approx(106.27).epsilon(0.03));
  request.kv_cache_memory = from_gib(106.27);
  CHECK(memory_budget(load_model("gpt-oss-120b"), request).max_concurrency == Approx(2964.9).epsilon(0.001));
}

TEST_CASE("V0 profiled the longest prompt in one piece, up to 32768 tokens") {
  // vllm-project/vllm#10517: Llama-3.1-8B, RTX 3090.
  const ModelSpec model = load_model("llama-3.1-8b");
  MemoryRequest request = h100();
  request.total_memory = from_gib(23.58);
  request.age = EngineAge::vllm_v0;
  request.max_num_batched_tokens = 512;
  request.max_num_seqs = 256;
  request.max_model_len = 20000;
  MemoryBudget budget = memory_budget(model, request);
  CHECK(budget.num_gpu_blocks == Approx(1952).epsilon(0.03));
  CHECK(budget.max_concurrency == Approx(1.56).epsilon(0.03));
  request.max_model_len = 29000;
  budget = memory_budget(model, request);
  CHECK(budget.num_gpu_blocks == Approx(1478).epsilon(0.03));
  CHECK_FALSE(budget.fits());
  CHECK(longest_model_len(model, request) == Approx(23648).epsilon(0.03));
  request.max_model_len = 35000;
  CHECK(memory_budget(model, request).num_gpu_blocks == Approx(2980).epsilon(0.03));
  CHECK(memory_budget(model, request).fits());
}

TEST_CASE("the poorer rank decides") {
  // vllm-project/vllm#13061: DeepSeek-R1-Distill-Qwen-14B on two RTX 4090s (23.64 GiB) at 0.98: 81,536 tokens.
  MemoryRequest request = h100(0.98);
  request.total_memory = from_gib(23.64);
  request.age = EngineAge::vllm_v0;
  request.max_num_batched_tokens = 2048;
  request.max_num_seqs = 256;
  request.max_model_len = 131072;
  request.shard.tensor_parallel_size = 2;
  const ModelSpec model = load_model("qwen2.5-14b");
  CHECK_FALSE(memory_budget(model, request).fits());
  CHECK(longest_model_len(model, request) == Approx(81536).epsilon(0.10));
}

TEST_CASE("V1 budgets do not depend on max_model_len; larger token budgets never raise them") {
  const ModelSpec model = load_model("llama-3.1-8b");
  MemoryRequest request = h100();
  const Bytes kv = memory_budget(model, request).kv;
  request.max_model_len = 131072;
  CHECK(memory_budget(model, request).kv == kv);
  Bytes previous = Bytes::max();
  for (const std::int64_t budget : {100, 512, 2048, 8192, 16384, 65536}) {
    request.max_num_batched_tokens = budget;
    const Bytes now = memory_budget(model, request).kv;
    CHECK(now <= previous);
    previous = now;
  }
}

TEST_CASE("per-rank blocks never exceed one GPU") {
  const ModelSpec model = load_model("llama-3.1-70b");
  for (const int ranks : {4, 8}) {
    MemoryRequest request = h100();
    request.shard.tensor_parallel_size = ranks;
    request.max_model_len = 8192;
    const MemoryBudget budget = memory_budget(model, request);
    CHECK(budget.layout.block_bytes() * budget.num_gpu_blocks <= budget.requested);
    // Published ranges of both token budgets: TP4 0.43-0.50 M tokens, TP8 1.3-1.4 M.
    const double millions = static_cast<double>(budget.kv_tokens.count()) / 1e6;
    CHECK(millions > (ranks == 4 ? 0.40 : 1.25));
    CHECK(millions < (ranks == 4 ? 0.50 : 1.40));
  }
}

TEST_CASE("claim 9: an A100 holds about 28 sequences of 4096 tokens of a 7B, not 38") {
  MemoryRequest request = a100(0.9, 1);
  request.max_model_len = 4096;
  const MemoryBudget budget = memory_budget(load_model("llama-2-7b"), request);
  CHECK(budget.max_concurrency > 27.0);
  CHECK(budget.max_concurrency < 30.0);
  // Line by line: the parts make up what was requested.
  CHECK(budget.weights.total() + budget.activations + budget.non_torch + budget.graphs + budget.kv == budget.requested);
}

TEST_CASE("a refusal names the numbers that would work") {
  const ModelSpec fp8 = with_precision(load_model("llama-3.1-70b"), "ptpc_fp8");
  MemoryRequest request = h100(0.95);
  request.block_size = 128;
  // 75.22 - 67.7 - 4.84 - 0.13 = 2.5 GiB < 4.88 GiB: two GPUs do.
  const std::string message = refusal(fp8, request);
  INFO(message);
  CHECK(mentions(message, "needs 4.88 GiB"));
  CHECK(mentions(message, "tensor_parallel_size 2"));
  CHECK(mentions(message, "max_model_len <= "));
  CHECK(gib(memory_budget(fp8, request).kv) == Approx(2.5).epsilon(0.05));

  // 405B in bf16: 16 GPUs of 80 GB (12 by memory; the heads allow 16); DeepSeek-V3: 16 H100.
  MemoryRequest large = h100();
  large.max_model_len = 8192;
  CHECK(smallest_tensor_parallel(load_model("llama-3.1-405b"), large) == 16);
  CHECK(smallest_tensor_parallel(load_model("deepseek-v3"), large) == 16);
  CHECK(mentions(refusal(load_model("llama-3.1-405b"), large), "tensor_parallel_size 16"));
  large.total_memory = from_gib(139.81);
  CHECK(smallest_tensor_parallel(load_model("deepseek-v3"), large) == 8);

  // A utilisation far too small: the smallest that works is named, and works.
  const ModelSpec llama = load_model("llama-2-7b");
  MemoryRequest tiny = a100(0.1, 1);
  tiny.max_model_len = 4096;
  const auto utilization = smallest_utilization(llama, tiny);
  REQUIRE(utilization);
  CHECK(mentions(refusal(llama, tiny), "gpu_memory_utilization >= "));
  tiny.gpu_memory_utilization = *utilization;
  CHECK(memory_budget(llama, tiny).fits());
  tiny.gpu_memory_utilization = *utilization - 0.01;
  CHECK_FALSE(memory_budget(llama, tiny).fits());
}

TEST_CASE("a pipeline stage needs the KV of its own layers only") {
  // vllm-project/vllm#34076: 16 of 48 layers, 3.18 GiB: 262144 tokens need 8.0 GiB; 104,2xx fit (3.18 GiB / 32,768 B).
  const ModelSpec model = with_precision(load_model("qwen3-30b-a3b"), "fp8");
  MemoryRequest request = h100();
  request.max_model_len = 262144;
  request.kv_cache_memory = from_gib(3.18);
  request.shard = {.tensor_parallel_size = 1, .first_layer = 0, .last_layer = 16};
  const MemoryBudget budget = memory_budget(model, request);
  CHECK(budget.layout.block_bytes() * budget.blocks_per_request == 8_GiB);
  CHECK(budget.layout.longest_request(budget.num_gpu_blocks, 8192).count() == Approx(104'202).epsilon(0.001));
}

}  // namespace ridgeline
