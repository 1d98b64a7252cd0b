// What does not fit is refused with numbers that work; what fits gets the blocks that engines reported.
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

std::string served(const std::string& model, const std::string& gpu, const std::string& engine) {
  return "model: " + model + "\nfleet: [{gpu: " + gpu + ", engine: " + engine + "}]\n"
         "workload: {request_rate: 1, num_prompts: 1, input_tokens: 10, output_tokens: 10}\n";
}

bool mentions(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("405B on one H100: the degree that would do") {
  // 811.7 GB of bf16 weights: 12 cards by memory, 16 the next degree that divides 128 heads.
  const std::string message = mistakes_in(served("llama-3.1-405b", "h100-sxm-80gb", "{max_model_len: 8192}"));
  INFO(message);
  CHECK(mentions(message, "GiB"));
  CHECK(mentions(message, "16"));
}

TEST_CASE("A utilisation too small for the weights: the smallest that works") {
  const std::string message = mistakes_in(served("llama-2-7b", "a100-sxm-80gb", "{gpu_memory_utilization: 0.1, dtype: float16}"));
  INFO(message);
  CHECK(mentions(message, "gpu_memory_utilization"));
}

TEST_CASE("34B on a 24 GB card is refused in one sentence") {
  const std::string message = mistakes_in(served("yi-34b", "rtx-4090", "{}"));
  INFO(message);
  CHECK_FALSE(message.empty());
  CHECK(mentions(message, "GiB"));
}

TEST_CASE("Two 4090s share a 14B model: figures are per GPU") {
  // 48 layers x 4 KV heads a card x 128 x 2 x 2 B = 98,304 B a token and card; 131,072 tokens do not fit (vllm-project/vllm#13061).
  const std::string message = mistakes_in(
      served("qwen2.5-14b", "rtx-4090", "{profile: vllm-v0, tensor_parallel_size: 2, max_model_len: 131072, gpu_memory_utilization: 0.98}"));
  INFO(message);
  CHECK_FALSE(message.empty());
}

TEST_CASE("Tensor parallelism that does not divide 64 heads names the degrees that do") {
  for (const char* degree : {"3", "24"}) {
    const std::string message = mistakes_in(served("llama-3-70b", "h100-sxm-80gb", std::string("{tensor_parallel_size: ") + degree + "}"));
    INFO(message);
    CHECK(mentions(message, "1, 2, 4, 8, 16"));
  }
}

TEST_CASE("KV heads beyond the degree are replicated, and nodes are crossed with a warning") {
  const Scenario tp8 = scenario_from(served("llama-3-70b", "h100-sxm-80gb", "{tensor_parallel_size: 8, kv_cache_memory_bytes: 36 GiB}"));
  const Scenario tp16 = scenario_from(served("llama-3-70b", "h100-sxm-80gb", "{tensor_parallel_size: 16, kv_cache_memory_bytes: 36 GiB}"));
  // 80 layers x 1 KV head x 128 x 2 x 2 B = 40,960 B a token and card at both; 36 GiB hold 58,982 blocks of 16.
  CHECK(tp8.fleet[0].engine.num_gpu_blocks == 58982);
  CHECK(tp16.fleet[0].engine.num_gpu_blocks == 58982);
  CHECK(tp8.warnings.empty());
  REQUIRE(tp16.warnings.size() == 1);
  CHECK(mentions(tp16.warnings[0].message, "spans 2 nodes"));
}

TEST_CASE("Checkpoints that can't be read are refused with their file") {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const char* name : {"bad_nan.json", "bad_quant_unknown.json", "t5_encoder_decoder.json", "bad_empty_object.json", "bad_array.json"}) {
    const std::string file = (shared / "cases" / "configs" / name).string();
    const std::string message = mistakes_in(served(file, "h100-sxm-80gb", "{}"));
    INFO(message);
    CHECK(mentions(message, name));
  }
}
