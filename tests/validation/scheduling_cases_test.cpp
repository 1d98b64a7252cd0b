// What users of engines and simulators stumbled over, with the answers that are right: scheduling, admission, preemption.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "scenarios/load/engine_profiles.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::run_text;

namespace {

std::string mistake_of(const std::string& yaml) {
  try {
    (void)run_text(yaml);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Too few blocks are refused at once; with enough every request ends") {
  // inference-sim#297, vllm-project/vllm#2163. 512 + 256 tokens: 767 with KV, 48 blocks of 16; vLLM V1 keeps one block for itself.
  const auto yaml = [](const char* profile, int blocks) {
    return fmt::format(R"(
cost: {{model: constant, step_time: 1 ms}}
engine: {{profile: {}, num_gpu_blocks_override: {}, max_model_len: 768, max_num_batched_tokens: 2048{}}}
fleet: [{{replicas: 1}}]
workload: {{request_rate: 2000, num_prompts: 200, input_tokens: 512, output_tokens: 256}}
)",
                       profile, blocks, std::string(profile) == "sglang" ? ", block_size: 16" : "");
  };
  for (const char* profile : {"vllm-main-2026", "vllm-0.11"}) {
    for (const int blocks : {10, 40, 48}) {
      INFO(profile << ' ' << blocks);
      const std::string mistake = mistake_of(yaml(profile, blocks));
      CHECK(mistake.find("48 KV blocks") != std::string::npos);
    }
    for (const int blocks : {49, 100, 1000}) {
      INFO(profile << ' ' << blocks);
      const RunMetrics metrics = run_text(yaml(profile, blocks)).metrics;
      CHECK(metrics.completed == 200);
      // Alone, a request takes 256 steps; recomputation at most doubles that here.
      CHECK(metrics.duration < Duration::milliseconds(200 * 256 * 2));
    }
  }
  CHECK_FALSE(mistake_of(yaml("vllm-v0", 40)).empty());
  CHECK(run_text(yaml("vllm-v0", 100)).metrics.completed == 200);
}

TEST_CASE("A preempted request does not get its blocks back for nothing") {
  // inference-sim#1121: 1024 clients on a pool for 68 requests gave 2,740 to 3,086 tokens/s on a real engine and 125,000 in a simulator.
  const auto throughput = [](int clients) {
    const std::string yaml = fmt::format(R"(
model: llama-3.1-8b
fleet: [{{gpu: h100-sxm-80gb}}]
engine: {{num_gpu_blocks_override: {}, max_model_len: 2048}}
workload: {{arrival: all_at_once, max_concurrency: {}, num_prompts: 5120, input_tokens: 256, output_tokens: 256}}
)",
                                         68 * 32 + 1, clients);
    const RunMetrics metrics = run_text(yaml).metrics;
    CHECK(metrics.completed == 5120);
    // Every token computed at least once, and none in less time than full batches of the token budget would take.
    CHECK(metrics.fleet.scheduled_tokens >= metrics.total_input_tokens + metrics.total_output_tokens - metrics.completed);
    CHECK(metrics.fleet.busy > 0.99);
    return metrics.output_throughput;
  };
  const double few = throughput(256);
  const double many = throughput(1024);
  INFO(few << " and " << many);
  CHECK(many > 0.8 * few);
  CHECK(many < 1.05 * few);
}

TEST_CASE("A long prompt stalls a running stream once per piece, longer with larger pieces") {
  // ggml-org/llama.cpp#29175. A stream decodes; a prompt of 65,536 tokens comes. Each step gives the stream one token of the budget.
  struct Steps final : Observer {
    void step_done(const StepDone& fact) override {
      const auto& batch = fact.plan->batch;
      const bool long_prompt = std::any_of(batch.chunks.begin(), batch.chunks.end(), [&](const PrefillChunk& chunk) {
        return batch.decode_sequences > 0 && chunk.new_tokens > Tokens{0};
      });
      if (!long_prompt) return;
      ++prefills;
      worst = std::max(worst, fact.end - fact.start);
      total += fact.end - fact.start;
    }
    std::int64_t prefills = 0;
    Duration worst, total;
  };
  const auto trace = std::filesystem::temp_directory_path() / fmt::format("ridgeline-long-prompt-{}.csv", ::getpid());
  std::ofstream(trace) << "arrived_at,num_prefill_tokens,num_decode_tokens\n0,16,4000\n0.5,65536,10\n";
  Duration worst;
  Duration total = Duration::max();
  for (const std::int64_t budget : {512, 2048, 8192, 65536}) {
    INFO(budget);
    Steps steps;
    (void)run_text(fmt::format(R"(
model: llama-3.1-8b
fleet: [{{gpu: h100-sxm-80gb}}]
engine: {{max_num_batched_tokens: {}, max_model_len: 100000, enable_prefix_caching: false}}
workload: {{trace: {}}}
)",
                               budget, trace.string()),
                   {.observers = {&steps}});
    CHECK(steps.prefills == ceil_divide<std::int64_t>(65536, budget - 1));
    CHECK(steps.worst > worst);
    CHECK(steps.total <= total);
    worst = steps.worst;
    total = steps.total;
  }
  std::filesystem::remove(trace);
}

TEST_CASE("Near saturation a run says that it does not know its TTFT, and what host time is worth") {
  // inference-sim#480, #482: without time between steps a simulator had 22 % too much capacity, and 120 s of TTFT became 64 ms.
  const auto run_at = [](double rate, int host_us) {
    return run_text(fmt::format(R"(
model: llama-3.1-8b
fleet: [{{gpu: h100-sxm-80gb}}]
engine: {{profile: vllm-0.11, max_num_seqs: 64, host_overhead: {{per_step: {} us, per_sequence: 10 us, overlapped: false}}}}
workload: {{request_rate: {}, num_prompts: 8000, input_tokens: {{distribution: lognormal, mean: 600, median: 400, max: 4000}},
           output_tokens: {{distribution: lognormal, mean: 200, median: 150, max: 2000}}}}
)",
                                host_us, rate))
        .metrics;
  };
  // Capacity: what comes out when far more comes in. Half the host time: a step of 64 decodes takes about 9 ms, so 2 to 3 % more.
  const double capacity = run_at(300, 500).request_throughput;
  const double faster = run_at(300, 250).request_throughput;
  INFO(capacity << " and " << faster << " requests/s");
  CHECK(faster > 1.01 * capacity);
  CHECK(faster < 1.05 * capacity);

  const RunMetrics quiet = run_at(0.7 * capacity, 500);
  CHECK_FALSE(quiet.saturated);
  CHECK_FALSE(quiet.near_knee);
  double previous = quiet.ttft.mean;
  for (int percent = 90; percent <= 110; percent += 2) {
    INFO(percent);
    const RunMetrics metrics = run_at(capacity * percent / 100, 500);
    const bool flagged = metrics.saturated || metrics.near_knee;
    CHECK(flagged);
    if (percent >= 104) CHECK(metrics.saturated);
    CHECK(metrics.ttft.mean > previous);
    previous = metrics.ttft.mean;
  }
  // The same load just under the knee: the faster host sees it later.
  CHECK(run_at(0.98 * capacity, 250).ttft.mean < 0.75 * run_at(0.98 * capacity, 500).ttft.mean);
}

TEST_CASE("No engine takes host time for nothing by default") {
  for (const EngineProfile& profile : engine_profiles()) {
    INFO(profile.name);
    CHECK(profile.host.per_step >= Duration::microseconds(100));
    CHECK(profile.host.per_sequence > Duration{});
  }
}

TEST_CASE("gpt-oss-120b with 1.71 GiB of KV: the context that fits depends on the token budget") {
  // vllm-project/vllm#27508: 3112 blocks of 589,824 B; 131,072 tokens need 8192 + ceil((127 + 1024) / 16) + 1 = 8265 (4.54 GiB).
  const auto mistake = [](int budget) {
    return mistake_of(fmt::format(R"(
model: gpt-oss-120b
fleet: [{{gpu: h100-sxm-80gb}}]
engine: {{kv_cache_memory_bytes: 1836098519, max_num_batched_tokens: {}, max_model_len: 131072}}
workload: {{request_rate: 1, num_prompts: 1, input_tokens: 10, output_tokens: 10}}
)",
                                  budget));
  };
  const std::string small = mistake(1024);
  INFO(small);
  CHECK(small.find("4.54 GiB") != std::string::npos);
  CHECK(small.find("max_model_len <= 48624") != std::string::npos);
  const std::string large = mistake(8192);
  INFO(large);
  CHECK(large.find("max_model_len <= 414") != std::string::npos);  // 41.4 k
}
