// Whole steps against published measurements: the first question a user asks of a simulator.
#include <string>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;

namespace {

// Milliseconds a token of one stream whose context starts at `context` tokens and grows by 64.
double single_stream_ms(const std::string& model, const std::string& gpu, int context, const std::string& engine = "") {
  return test::run_text(fmt::format(R"(
model: {}
engine: {{profile: vllm-main-2026, max_model_len: {}{}}}
fleet: [{{gpu: {}}}]
workload: {{arrival: all_at_once, num_prompts: 1, input_tokens: {}, output_tokens: 64}}
)",
                                    model, context + 128, engine, gpu, context))
      .metrics.tpot.mean;
}

}  // namespace

TEST_CASE("Llama-3.1-8B bf16 on one H100: 6.4 ms a token plus 4.4e-5 ms a token of context") {
  // Published fit of inter-token latency at batch 1, within 10 %. Contexts in the middle of the run: +32 tokens.
  for (const int context : {1024, 8192, 32768}) {
    const double published = 6.4 + 4.4e-5 * (context + 32);
    CHECK(single_stream_ms("llama-3.1-8b", "h100-sxm-80gb", context) == Approx(published).epsilon(0.10));
  }
}

TEST_CASE("Llama-2-7B bf16 at batch 1 reads its weights at 1.3 to 1.5 TB/s on an A100") {
  // 13.48 GB of weights a token; 10 % on either side of the published band.
  const double terabytes_per_second = 13.48e9 / (single_stream_ms("llama-2-7b", "a100-sxm-80gb", 128) * 1e-3) / 1e12;
  CHECK(terabytes_per_second > 1.3 * 0.9);
  CHECK(terabytes_per_second < 1.5 * 1.1);
}

TEST_CASE("an H100 decodes about 1.6 times and prefills about 3 times as fast as an A100") {
  // Claim: bandwidth grows 3.35 / 2.04 = 1.64, bf16 compute 989 / 312 = 3.17.
  const double decode = single_stream_ms("llama-2-7b", "a100-sxm-80gb", 512) / single_stream_ms("llama-2-7b", "h100-sxm-80gb", 512);
  CHECK(decode == Approx(1.64).epsilon(0.15));
  const auto prefill_ms = [](const std::string& gpu) {
    return test::run_text(fmt::format(R"(
model: llama-3.1-8b
engine: {{profile: vllm-main-2026, max_model_len: 8192, max_num_batched_tokens: 8192}}
fleet: [{{gpu: {}}}]
workload: {{arrival: all_at_once, num_prompts: 1, input_tokens: 8000, output_tokens: 1}}
)",
                                      gpu))
        .metrics.ttft.mean;
  };
  CHECK(prefill_ms("a100-sxm-80gb") / prefill_ms("h100-sxm-80gb") == Approx(3.0).epsilon(0.2));
}

TEST_CASE("Qwen2.5-72B bf16 on two H100: 30.9 ms a token, within 12 %") {
  // tenstorrent/tt-inference-server#143: batch 1, any short context.
  CHECK(single_stream_ms("qwen2.5-72b", "h100-sxm-80gb", 1024, ", tensor_parallel_size: 2") == Approx(30.9).epsilon(0.12));
}
