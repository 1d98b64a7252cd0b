// Performance that people reported: whole runs against their published figures.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "scenarios/validate/requests.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;

namespace {

RunMetrics metrics_of(const std::string& engine, const std::string& fleet, const std::string& workload) {
  return test::run_text(fmt::format("engine: {{{}}}\nfleet: [{{{}}}]\nworkload: {{{}}}\n", engine, fleet, workload)).metrics;
}

double tpot_ms(const std::string& fleet, const std::string& engine, int prompt, int batch = 1) {
  return metrics_of(engine, fleet, fmt::format("arrival: all_at_once, num_prompts: {}, input_tokens: {}, output_tokens: 64", batch, prompt)).tpot.mean;
}

// Counts steps that carry prompt tokens.
class PrefillSteps final : public Observer {
 public:
  void step_done(const StepDone& step) override { count += step.plan->batch.chunks.empty() ? 0 : 1; }
  int count = 0;
};

}  // namespace

TEST_CASE("PC-43: a larger budget cuts one long prompt into fewer, longer steps, each a stall of everybody else") {
  double last_stall = 0.0, last_prefill = 1e300;
  for (const int budget : {512, 2048, 8192, 65'536}) {
    INFO("budget " << budget);
    PrefillSteps steps;
    const RunMetrics metrics = test::run_text(fmt::format(R"(
model: llama-3.1-8b
engine: {{profile: vllm-main-2026, max_num_batched_tokens: {}, max_model_len: 131072}}
fleet: [{{gpu: h100-sxm-80gb}}]
workload: {{arrival: all_at_once, num_prompts: 1, input_tokens: 65536, output_tokens: 2}}
)", budget), {.observers = {&steps}}).metrics;
    const int expected = (65'536 + budget - 1) / budget;
    CHECK(steps.count == expected);
    CHECK(metrics.ttft.mean <= last_prefill * 1.01);
    CHECK(metrics.ttft.mean / expected > last_stall);
    last_prefill = metrics.ttft.mean, last_stall = metrics.ttft.mean / expected;
  }
}

TEST_CASE("PC-44: cutting 40,000-token prompts at 4,096 costs an offline batch at most 15 %") {
  // Llama-3.1-70B has the layers of Llama-3-70B, and the context.
  const auto throughput = [](const std::string& budget) {
    return metrics_of("profile: vllm-main-2026, tensor_parallel_size: 8, max_model_len: 65536, " + budget, "gpu: h100-sxm-80gb, model: llama-3.1-70b",
                      "arrival: all_at_once, num_prompts: 50, input_tokens: 40000, output_tokens: 256").output_throughput;
  };
  const double ratio = throughput("max_num_batched_tokens: 4096") / throughput("max_num_batched_tokens: 65536, enable_chunked_prefill: false");
  CHECK(ratio > 0.85);
  CHECK(ratio <= 1.02);
}

TEST_CASE("PC-45: Qwen2.5-72B on two H100") {
  const std::string fleet = "gpu: h100-sxm-80gb, model: qwen2.5-72b", engine = "profile: vllm-0.11, tensor_parallel_size: 2, max_model_len: 9216, gpu_memory_utilization: 0.97";
  for (const int prompt : {128, 1024, 8192}) {
    const double tpot = tpot_ms(fleet, engine, prompt);
    CHECK(tpot == Approx(30.9).epsilon(0.12));
    CHECK(tpot > 21.7);  // 145.4 GB of weights over 2 x 3.35 TB/s
  }
  const double ttft = metrics_of(engine, fleet, "arrival: all_at_once, num_prompts: 1, input_tokens: 8192, output_tokens: 2").ttft.mean;
  CHECK(ttft == Approx(1064.0).epsilon(0.20));
  CHECK(ttft > 647.0 * 0.9);  // 2 x 8,192 x 71 G FLOP over 2 x 989 TFLOP/s, embeddings excluded
}

TEST_CASE("PC-46, dense half: a 70B at batch 1 gains at least 1.6 x from a second GPU") {
  // fp8 weights, so that one GPU holds them.
  const std::string fleet = "gpu: h100-sxm-80gb, model: llama-3.1-70b";
  const auto tpot = [&](int ranks) {
    return tpot_ms(fleet, fmt::format("profile: vllm-main-2026, quantization: fp8, max_model_len: 2048, gpu_memory_utilization: 0.97, tensor_parallel_size: {}", ranks), 512);
  };
  CHECK(tpot(1) / tpot(2) >= 1.6);
}

TEST_CASE("PC-48: a step costs the same whatever the block size, rises with context and batch, and never undercuts the weights") {
  const std::string fleet = "gpu: h100-sxm-80gb, model: llama-3.1-8b";
  const auto at = [&](int block, int batch, int context) {
    return tpot_ms(fleet, fmt::format("profile: vllm-main-2026, block_size: {}, max_model_len: 40960, enable_prefix_caching: false", block), context, batch);
  };
  // 7.5 G parameters read in 16 bits over 3.35 TB/s.
  const double floor_ms = 7.5e9 * 2 / 3.35e12 * 1e3;
  const double reference = at(16, 16, 2048);
  for (const int block : {1, 64, 128}) CHECK(at(block, 16, 2048) == Approx(reference).epsilon(0.03));
  double last = floor_ms;
  for (const int batch : {1, 16, 64, 256}) {
    const double now = at(16, batch, 512);
    CHECK(now > last);
    last = now;
  }
  last = floor_ms;
  for (const int context : {128, 2048, 8192, 32'000}) {
    const double now = at(16, 4, context);
    CHECK(now > last);
    last = now;
  }
}

TEST_CASE("Replayed requests of vLLM on one H100: E2E and TPOT medians within 8 %, TTFT within 20 %") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const Scenario scenario = load_scenario(test::source_folder() / "scenarios" / "validation-residency.yaml");
  for (const char* name : {"residency-sweep_rate-agg_2rps-vanilla.csv", "residency-w5_sweep-agg12.csv", "residency-w7_sweep-agg6.csv"}) {
    INFO(name);
    const ReplayedLog log = replay(read_request_logs(shared / "data" / "end_to_end" / "per_request" / name).at(0), scenario, Duration::milliseconds(6));
    for (const ValidatedFigure& figure : quantile_figures({log}, scenario).figures) {
      if (figure.metric == "ttft_median") CHECK(std::abs(figure.error()) < 0.20);
      if (figure.metric == "tpot_median" || figure.metric == "e2e_median") CHECK(std::abs(figure.error()) < 0.08);
    }
  }
}
