// Do 95 % intervals hold the truth 95 % of the time? Tried where the truth is known: the M/D/1 queue.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "scenarios/study/parallel.hpp"
#include "scenarios/study/replications.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;

namespace {

constexpr std::size_t repetitions = 200;
constexpr std::size_t replications = 10;

// Service of 1 ms, one at a time; `rho` is the load.
Scenario queue(double rho) {
  return test::scenario_of(fmt::format(R"(
seed: 1000
cost: {{model: constant, step_time: 1 ms}}
engine: {{max_num_seqs: 1, max_num_batched_tokens: 64, max_model_len: 64, num_gpu_blocks_override: 100, async_scheduling: false}}
fleet: [{{name: server}}]
workload: {{arrival: {{process: poisson, request_rate: {}}}, num_prompts: 2000, input_tokens: 16, output_tokens: 1}}
)", rho * 1000));
}

// Mean waits of 200 times 10 runs, each under a seed of its own.
std::vector<double> mean_waits(double rho) {
  const Scenario scenario = queue(rho);
  return values_of(find_metric("mean_queue_time_ms", "test"), scenario, replicate(scenario, 0, repetitions * replications, default_jobs()));
}

double wait_ms(double rho) { return rho / (2 * (1 - rho)); }  // Pollaczek and Khinchine, with D = 1 ms

// 200 intervals of coverage 0.95 hold the truth 190 times, give or take 3.1; 180 to 198 is 90 to 99 %.
void check_coverage(std::size_t held) {
  INFO(held << " of " << repetitions << " intervals hold the true mean");
  CHECK(held >= 180);
  CHECK(held <= 198);
}

}  // namespace

// A run starts empty, so its mean wait is low by 0.2 % (measured on 20,000 runs of Lindley's recursion); the intervals are 6 % of the mean to each side, and the bias is
// no matter. Requests within a run depend on each other, which is why the run, not the request, is the sample.
TEST_CASE("95 % intervals hold the true mean wait of M/D/1, and the true difference of two") {
  const std::vector<double> half_loaded = mean_waits(0.5);
  const std::vector<double> more_loaded = mean_waits(0.6);
  std::size_t held = 0;
  std::size_t difference_held = 0;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const auto part = [&](const std::vector<double>& values) { return std::span(values).subspan(i * replications, replications); };
    held += estimate(part(half_loaded)).covers(wait_ms(0.5)) ? 1U : 0U;
    difference_held += estimate_difference(part(half_loaded), part(more_loaded)).covers(wait_ms(0.6) - wait_ms(0.5)) ? 1U : 0U;
  }
  check_coverage(held);
  check_coverage(difference_held);
}
