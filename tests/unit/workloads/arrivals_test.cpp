// Arrival processes against their definitions.
#include <cmath>

#include "tests/unit/workloads/support.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

std::vector<RequestSpec> arrivals(const std::string& yaml, std::uint64_t seed = 3) {
  return requests_of("input_tokens: 1\noutput_tokens: 1\n" + yaml, seed);
}
std::string refused(const std::string& yaml) { return mistakes_in("input_tokens: 1\noutput_tokens: 1\n" + yaml); }

struct Gaps {
  double mean = 0.0, cv = 0.0;
};
Gaps gaps_of(const std::vector<RequestSpec>& requests) {
  double sum = 0.0, squares = 0.0, last = 0.0;
  for (const RequestSpec& request : requests) {
    const double gap = request.arrival.seconds() - last;
    last = request.arrival.seconds();
    sum += gap;
    squares += gap * gap;
  }
  const auto n = static_cast<double>(requests.size());
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}
std::size_t arrived_before(const std::vector<RequestSpec>& requests, double seconds) {
  return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(),
                                                [&](const RequestSpec& r) { return r.arrival.seconds() < seconds; }));
}

}  // namespace

TEST_CASE("Rate and coefficient of variation of the gaps") {
  // Gamma: 1/sqrt(burstiness) = 2 for 0.25. Weibull of shape 0.5: sqrt(Gamma(5)/Gamma(3)^2 - 1) = sqrt(24/4 - 1)
  // = 2.236.
  const struct {
    const char* yaml;
    double cv;
  } rows[] = {
      {"request_rate: 4", 1.0},
      {"arrival: {process: poisson, request_rate: 4}", 1.0},
      {"request_rate: 4\nburstiness: 0.25", 2.0},
      {"arrival: {process: gamma, request_rate: 4, burstiness: 4}", 0.5},
      {"arrival: {process: weibull, request_rate: 4, shape: 0.5}", 2.236},
      {"arrival: {process: constant, request_rate: 4}", 0.0},
  };
  for (const auto& row : rows) {
    INFO(row.yaml);
    const Gaps gaps = gaps_of(arrivals(std::string("num_prompts: 100000\n") + row.yaml));
    CHECK(gaps.mean == Approx(0.25).epsilon(1e-9));  // stretched, so that the last arrives at n/rate
    CHECK(gaps.cv == Approx(row.cv).epsilon(0.03).margin(1e-6));
  }
}

TEST_CASE("As in vLLM's benchmark the last of n requests arrives at n/rate, unless that is turned off") {
  const auto stretched = arrivals("num_prompts: 50\nrequest_rate: 4");
  CHECK(ps(stretched.back()) == Approx(12.5e12).epsilon(1e-12));
  const auto free = arrivals("num_prompts: 50\narrival: {process: poisson, request_rate: 4, rescale: false}");
  CHECK(std::abs(static_cast<double>(ps(free.back())) - 12.5e12) > 1e9);
  CHECK(arrivals("duration: 100 s\nrequest_rate: 40").size() ==
        Approx(4000).epsilon(0.06));  // sigma = sqrt(4000) = 1.6 %
}

TEST_CASE("Constant arrivals are exact and do not drift") {
  const auto requests = arrivals("num_prompts: 300000\narrival: {process: constant, request_rate: 3}");
  CHECK(ps(requests[0]) == 333'333'333'333);
  CHECK(ps(requests[299'999]) == 100'000'000'000'000'000);
}

TEST_CASE("All at once, and a closed loop without a rate") {
  for (const char* yaml : {"arrival: all_at_once", "request_rate: inf", "max_concurrency: 8"}) {
    const auto requests = arrivals(std::string("num_prompts: 5\n") + yaml);
    REQUIRE(requests.size() == 5);
    CHECK(ps(requests[4]) == 0);
  }
  CHECK(workload_from("{num_prompts: 5, max_concurrency: 8, input_tokens: 1, output_tokens: 1}").max_concurrency == 8);
}

TEST_CASE("A ramp: the number of arrivals is the area under the rate") {
  // Linear 0 -> 100/s in 100 s: 100 t^2 / 200, so 1250 by 50 s, 5000 by 100 s, then 100/s.
  const auto linear = arrivals(
      "duration: 150 s\narrival: {process: ramp, ramp_up_start_rps: 0, ramp_up_end_rps: 100, ramp_up_time: 100 s, "
      "burstiness: 1e6}");
  CHECK(arrived_before(linear, 50) == Approx(1250).epsilon(0.002));
  CHECK(arrived_before(linear, 100) == Approx(5000).epsilon(0.002));
  CHECK(linear.size() == Approx(10000).epsilon(0.002));
  // Exponential 1 -> 100/s in 100 s: (e^(k t) - 1)/k with k = ln(100)/100 = 0.04605: 195.4 by 50 s, 2149.7 by 100 s.
  const auto exponential = arrivals(
      "duration: 100 s\narrival: {process: ramp, ramp_up_start_rps: 1, ramp_up_end_rps: 100, ramp_up_time: 100 s, "
      "ramp_up_strategy: exponential, burstiness: 1e6}");
  CHECK(arrived_before(exponential, 50) == Approx(195.4).epsilon(0.01));
  CHECK(exponential.size() == Approx(2149.7).epsilon(0.005));
  // Down: 10 -> 5/s in 100 s: 750.
  CHECK(arrivals("duration: 100 s\narrival: {process: ramp, ramp_up_start_rps: 10, ramp_up_end_rps: 5, ramp_up_time: "
                 "100 s, burstiness: 1e6}")
            .size() == Approx(750).epsilon(0.005));
}

TEST_CASE("Steps of rate, with a pause, once or again and again") {
  const std::string steps =
      "arrival: {process: steps, rates: [10, 0, 50], durations: [10 s, 20 s, 10 s], burstiness: 1e6";
  const auto once = arrivals(steps + "}");
  CHECK(arrived_before(once, 10) == Approx(100).margin(1));
  CHECK(arrived_before(once, 30) == Approx(100).margin(1));
  CHECK(once.size() == Approx(600).margin(1));
  const auto again = arrivals("duration: 80 s\n" + steps + ", repeat: true}");
  CHECK(again.size() == Approx(1200).margin(2));
}

TEST_CASE("Arrivals never go back, and the seed decides") {
  for (const char* yaml : {"request_rate: 1e9", "request_rate: 5\nburstiness: 0.00578",
                           "arrival: {process: steps, rates: [1, 3], durations: [0.1 s, 0.1 s], repeat: true}"}) {
    const auto requests = arrivals(std::string("num_prompts: 20000\n") + yaml);
    CHECK(std::is_sorted(requests.begin(), requests.end(),
                         [](const auto& a, const auto& b) { return a.arrival < b.arrival; }));
  }
  CHECK(ps(arrivals("num_prompts: 9\nrequest_rate: 4", 1)[4]) == ps(arrivals("num_prompts: 9\nrequest_rate: 4", 1)[4]));
  CHECK(ps(arrivals("num_prompts: 9\nrequest_rate: 4", 1)[4]) != ps(arrivals("num_prompts: 9\nrequest_rate: 4", 2)[4]));
}

TEST_CASE("Lengths do not depend on how requests arrive") {
  const std::string lengths =
      "num_prompts: 100\ninput_tokens: {distribution: lognormal, mu: 6, sigma: 1}\noutput_tokens: {distribution: "
      "uniform, min: 1, max: 900}\n";
  const auto slow = requests_of(lengths + "request_rate: 1"),
             bursty = requests_of(lengths + "request_rate: 9\nburstiness: 0.1");
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(slow[i].input == bursty[i].input);
    CHECK(slow[i].output == bursty[i].output);
  }
}

TEST_CASE("Impossible arrivals are refused with their place") {
  CHECK(contains(refused("num_prompts: 5"), "arrival: is missing"));
  CHECK(contains(refused("request_rate: 5"), "the workload has no end"));
  CHECK(contains(refused("num_prompts: 5\nrequest_rate: -1"), "request_rate"));
  CHECK(contains(refused("num_prompts: 5\nrequest_rate: 0"), "request_rate"));
  CHECK(contains(refused("num_prompts: 5\nrequest_rate: nan"), "got `nan`"));
  CHECK(contains(refused("num_prompts: 0\nrequest_rate: 1"), "num_prompts"));
  CHECK(contains(refused("num_prompts: 2.5\nrequest_rate: 1"), "whole number"));
  CHECK(contains(refused("num_prompts: 5\narrival: poison\nrequest_rate: 1"), "did you mean `poisson`"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: poisson, request_rate: 1}\nrequest_rate: 1"),
                 "is given twice"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: poisson, request_rate: 1, burstiness: 2}"),
                 "has no burstiness"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: gamma, request_rate: 1}"), "burstiness: is missing"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: weibull, request_rate: 1}"), "shape: is missing"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: steps, rates: [1, 2], durations: [1 s]}"),
                 "1 durations for 2 rates"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: steps, rates: [0], durations: [1 s]}"),
                 "no request ever arrives"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: steps, rates: [1], durations: [1]}"), "needs a unit"));
  CHECK(contains(refused("num_prompts: 5\narrival: {process: all_at_once, request_rate: 5}"), "has no request_rate"));
  CHECK(contains(refused("num_prompts: 5\nrequest_rte: 5"), "did you mean `request_rate`"));
  CHECK(contains(refused("num_prompts: 5\nmax_concurrency: 0"), "max_concurrency"));
  CHECK(contains(complaint([] { arrivals("num_prompts: 5\nrequest_rate: 1e-8"); }), "106 days"));
}
