// The simulator against queueing theory, where theory is exact: constant service, one request at a time, one-token outputs.
#include <string>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::run_text;

namespace {

// One server (max_num_seqs 1) with a service time of 1 ms.
std::string single_server(const std::string& arrival, int requests) {
  return fmt::format(R"(
seed: 11
cost: {{model: constant, step_time: 1 ms}}
engine: {{profile: vllm-main-2026, max_num_seqs: 1, max_num_batched_tokens: 64, max_model_len: 64, num_gpu_blocks_override: 100,
         async_scheduling: false}}
fleet: [{{name: server}}]
workload: {{arrival: {}, num_prompts: {}, input_tokens: 16, output_tokens: 1}}
)",
                     arrival, requests);
}

}  // namespace

TEST_CASE("M/D/1: the mean wait is rho D / (2 (1 - rho))") {
  const double rho = GENERATE(0.3, 0.5, 0.7, 0.9);
  const RunResult result = run_text(single_server(fmt::format("{{process: poisson, request_rate: {}}}", rho * 1000), 300'000));
  const double wait_ms = rho / (2 * (1 - rho));
  // The standard error of the mean grows as the queue's memory, about (1 - rho)^-2 services: 6 % covers rho = 0.9.
  CHECK(result.metrics.ttft.mean - 1.0 == Approx(wait_ms).epsilon(rho < 0.8 ? 0.03 : 0.06));
  CHECK(result.metrics.fleet.busy == Approx(rho).epsilon(0.01));
}

TEST_CASE("D/D/1: below capacity nobody waits, above it the wait grows by the difference") {
  const RunResult below = run_text(single_server("{process: constant, request_rate: 800}", 1000));
  CHECK(below.metrics.ttft.min == Approx(1.0));
  CHECK(below.metrics.ttft.max == Approx(1.0));
  CHECK_FALSE(below.metrics.saturated);

  // Requests 0.8 ms apart, 1 ms of service: the i-th waits 0.2 i ms; the last of 1000 leaves 199.8 + 1 ms after it came.
  const RunResult above = run_text(single_server("{process: constant, request_rate: 1250}", 1000));
  CHECK(above.metrics.ttft.max == Approx(200.8));
  CHECK(above.metrics.saturated);
}

TEST_CASE("random routing over four replicas is four M/D/1 queues") {
  const std::string yaml = R"(
seed: 5
cost: {model: constant, step_time: 1 ms}
engine: {profile: vllm-main-2026, max_num_seqs: 1, max_num_batched_tokens: 64, max_model_len: 64, num_gpu_blocks_override: 100,
         async_scheduling: false}
fleet: [{name: server, replicas: 4}]
router: {policy: random}
workload: {arrival: {process: poisson, request_rate: 2800}, num_prompts: 400000, input_tokens: 16, output_tokens: 1}
)";
  const RunResult result = run_text(yaml);
  CHECK(result.metrics.ttft.mean - 1.0 == Approx(0.7 / (2 * 0.3)).epsilon(0.04));
}
