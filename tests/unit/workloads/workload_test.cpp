// Whole workloads: presets, limits on outputs, notes, and the resolved form.
#include <cmath>

#include "tests/unit/workloads/support.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

TEST_CASE("Presets agree with the published statistics") {
  // Mean, p50, p90, p99 of input and output, rate and CV of the gaps: the sources named in workloads/presets/.
  const struct {
    const char* preset;
    double input[4], output[4], rate, cv, cv_tolerance;
  } rows[] = {
      {"azure-conversation", {1154.7, 1020, 2734, 4142}, {211.1, 129, 424, 601}, 5.53, 1.09, 0.03},
      {"azure-code", {2047.8, 1469, 5188, 7436}, {27.9, 13, 55, 251}, 2.567, 13.15, 0.10},
      {"mooncake-conversation", {12428, 7284, 27991, 89868}, {347.1, 356, 606, 1168}, 3.401, std::sqrt(3.0), 0.03},
      {"sharegpt", {2342.2, 1723, 5713, 7435}, {434.9, 410, 825, 998}, 2.0, 1.0, 0.03},
  };
  for (const auto& row : rows) {
    INFO(row.preset);
    const bool has_times = std::string(row.preset) != "sharegpt";
    const WorkloadNotes notes =
        notes_of(std::string("num_prompts: 200000\npreset: ") + row.preset + (has_times ? "" : "\nrequest_rate: 2"));
    const auto check = [](const WorkloadStatistics::Lengths& drawn, const double (&published)[4]) {
      CHECK(drawn.mean == Approx(published[0]).epsilon(0.02));
      CHECK(drawn.p50 == Approx(published[1]).epsilon(0.02));
      CHECK(drawn.p90 == Approx(published[2]).epsilon(0.02));
      CHECK(drawn.p99 == Approx(published[3]).epsilon(0.03));
    };
    check(notes.statistics.input, row.input);
    check(notes.statistics.output, row.output);
    CHECK(notes.statistics.request_rate == Approx(row.rate).epsilon(0.01));
    CHECK(notes.statistics.gap_cv == Approx(row.cv).epsilon(row.cv_tolerance));
  }
}

TEST_CASE("What stands beside a preset replaces it, key by key") {
  const WorkloadConfig faster = workload_from("{preset: azure-conversation, num_prompts: 10, request_rate: 20}");
  CHECK(faster.arrival->process == ArrivalConfig::Process::gamma);
  CHECK(faster.arrival->request_rate == RequestsPerSecond{20});
  CHECK(faster.arrival->burstiness == 0.842);
  const WorkloadConfig nested =
      workload_from("{preset: azure-conversation, num_prompts: 10, arrival: {burstiness: 0.5}}");
  CHECK(nested.arrival->request_rate == RequestsPerSecond{5.53});
  CHECK(nested.arrival->burstiness == 0.5);
  const WorkloadConfig other = workload_from(
      "{preset: azure-conversation, num_prompts: 10, arrival: {process: constant, request_rate: 3}, output_tokens: 5}");
  CHECK(other.arrival->process == ArrivalConfig::Process::constant);
  CHECK(other.output_tokens->tokens == Tokens{5});
  CHECK(other.input_tokens->distribution == LengthConfig::Distribution::quantiles);
  CHECK(workload_from("{preset: azure-code, num_prompts: 10, request_rate: inf}").arrival->process ==
        ArrivalConfig::Process::all_at_once);
  CHECK(contains(mistakes_in("{preset: azure-chat, num_prompts: 10}"), "unknown preset `azure-chat`; did you mean"));
  CHECK(contains(mistakes_in("{preset: sharegpt, num_prompts: 10}"), "arrival: is missing"));
  CHECK(list_presets().size() == 4);
  CHECK(list_trace_formats().size() >= 12);
}

TEST_CASE("Requested and produced output tokens") {
  const std::string base =
      "num_prompts: 2000\nrequest_rate: 4\ninput_tokens: 10\noutput_tokens: {distribution: lognormal, median: 250, "
      "mean: 300}\n";
  SECTION("what the model would say, cut at max_tokens") {
    const WorkloadNotes notes = notes_of(base + "max_tokens: 1024");
    CHECK(notes.statistics.requested_output == Tokens{2000 * 1024});
    CHECK(notes.statistics.output.total.as_double() == Approx(2000 * 300).epsilon(0.05));
    CHECK(notes.statistics.output.most <= Tokens{1024});
    CHECK(contains(notes.description, "max_tokens 1024"));
    CHECK(contains(notes.description, "open loop"));
  }
  SECTION("ignore_eos runs to the limit") {
    const WorkloadNotes notes = notes_of(base + "max_tokens: 1024\nignore_eos: true");
    CHECK(notes.statistics.output.total == Tokens{2000 * 1024});
    CHECK(contains(notes.description, "ignore_eos"));
  }
  SECTION("min_tokens holds the end back") {
    CHECK(notes_of(base + "min_tokens: 200").statistics.output.least == Tokens{200});
    CHECK(contains(mistakes_in(base + "min_tokens: 200\nmax_tokens: 100"), "is above `max_tokens`"));
  }
  SECTION("without a limit the length is what was asked for") {
    const auto requests = requests_of(base);
    CHECK(requests[7].max_tokens == requests[7].output);
  }
  SECTION("a closed loop says so") {
    CHECK(contains(notes_of(base + "max_concurrency: 1").description, "closed loop of at most 1 requests"));
  }
}

TEST_CASE("Shared prefixes come before the drawn prompt") {
  const auto requests = requests_of(
      "{num_prompts: 400, request_rate: 4, input_tokens: 100, output_tokens: 1, shared_prefix: {tokens: 50, count: "
      "4}}");
  std::vector<std::uint64_t> streams;
  for (const RequestSpec& request : requests) {
    CHECK(request.input == Tokens{150});
    streams.push_back(request.content->at(0).stream);
  }
  std::sort(streams.begin(), streams.end());
  CHECK(std::unique(streams.begin(), streams.end()) - streams.begin() == 4);
}

TEST_CASE("A trace that starts quietly is reported with its rates") {
  // 20 h at 0.034/s, then 20 h at 3.17/s, as BurstGPT begins; every fiftieth row failed.
  std::string text = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
  std::int64_t row = 0;
  const auto add = [&](double seconds) {
    text += std::to_string(seconds) + ",ChatGPT,100," + (row++ % 50 == 49 ? "0,100" : "20,120") + ",API log\n";
  };
  for (double t = 0; t < 72'000; t += 1 / 0.034) add(t);
  for (double t = 72'000; t < 144'000; t += 1 / 3.17) add(t);
  const TemporaryFile file(text);
  const WorkloadNotes notes = notes_of("trace: " + file.path());
  CHECK(notes.rows_read == row);
  CHECK(notes.zero_rows == row / 50);
  const auto& rates = notes.statistics.rates;
  CHECK(rates.first == Approx(0.034 * 0.98).epsilon(0.1));
  CHECK(rates.least == Approx(0.034 * 0.98).epsilon(0.1));
  CHECK(rates.most == Approx(3.17 * 0.98).epsilon(0.05));
  REQUIRE(rates.quiet_start.has_value());
  CHECK(rates.quiet_start->seconds() == Approx(72'000).epsilon(0.04));
  REQUIRE(notes.warnings.size() == 2);
  CHECK(contains(notes.warnings[0], "left out (zero_tokens: drop)"));
  CHECK(contains(notes.warnings[1], "h carry 0.03"));
  const WorkloadNotes busy = notes_of("trace: {file: " + file.path() + ", start: 20 h}");
  CHECK(busy.statistics.request_rate == Approx(3.17 * 0.98).epsilon(0.01));
  CHECK_FALSE(busy.statistics.rates.quiet_start.has_value());
  // Ordinary Poisson traffic raises no alarm, however short.
  for (const int n : {20, 200, 5000}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      CHECK(
          notes_of("{num_prompts: " + std::to_string(n) + ", request_rate: 1, input_tokens: 1, output_tokens: 1}", seed)
              .warnings.empty());
    }
  }
}

TEST_CASE("The resolved workload reads back to the same workload") {
  const TemporaryFile file("arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n10,2,1\n20,3,1\n30,4,1\n");
  const std::vector<std::string> workloads{
      "{preset: azure-conversation, num_prompts: 10, max_concurrency: 3}",
      "{num_prompts: 10, duration: 2.5 s, arrival: {process: weibull, request_rate: 3.7, shape: 0.7}, input_tokens: 5, "
      "output_tokens: 9, max_tokens: 7, ignore_eos: true}",
      "{duration: 9 s, arrival: {process: ramp, ramp_up_start_rps: 1, ramp_up_end_rps: 9, ramp_up_time: 5 s}, "
      "input_tokens: 5, output_tokens: 9, min_tokens: 2}",
      "{arrival: {process: steps, rates: [1, 20], durations: [5 s, 1.25 s]}, input_tokens: 5, output_tokens: 9, "
      "shared_prefix: {tokens: 5, count: 2}}",
      "{num_prompts: 4, max_concurrency: 2, input_tokens: 5, output_tokens: {distribution: zipf, exponent: 1.3, min: "
      "1, max: 50}}",
      "{trace: {file: " + file.path() + ", start: 5 s, rate_scale: 1.5, zero_tokens: error, time_unit: ms}}",
      "{trace: " + file.path() + ", request_rate: 3, num_prompts: 3}",
  };
  for (const std::string& yaml : workloads) {
    INFO(yaml);
    const WorkloadConfig workload = workload_from(yaml);
    const std::string once = to_config(workload).to_yaml();
    const WorkloadConfig again = workload_from(once);
    CHECK(to_config(again).to_yaml() == once);
    const auto first = pull_all(*make_source(workload, 5)), second = pull_all(*make_source(again, 5));
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(ps(first[i]) == ps(second[i]));
      CHECK(first[i].input == second[i].input);
      CHECK(first[i].output == second[i].output);
      CHECK(first[i].max_tokens == second[i].max_tokens);
    }
  }
}

TEST_CASE("All mistakes of a workload are reported at once") {
  const std::string mistakes = mistakes_in(
      "num_prompts: -1\nrequest_rate: fast\ninput_tokens: 10 GB\noutput_tokens: {distribution: unifrom}\nrate: 5\n");
  for (const char* part : {"test.yaml:1", "test.yaml:2", "test.yaml:3", "test.yaml:4", "test.yaml:5", "unknown key"}) {
    INFO(part);
    CHECK(contains(mistakes, part));
  }
  CHECK(contains(mistakes_in("{num_prompts: 5, request_rate: 1}"), "input_tokens: is missing"));
  CHECK(contains(mistakes_in("{num_prompts: 5, request_rate: 1}"), "output_tokens: is missing"));
  CHECK(contains(mistakes_in("just text"), "expected a map"));
}

TEST_CASE("Percentiles of the statistics: exact up to 4096, within 1/2048 above") {
  CountHistogram histogram;
  for (std::int64_t value = 1; value <= 100'000; ++value) histogram.add(value);
  CHECK(histogram.quantile(0.01) == Approx(1000.99));  // between the 1000th and the 1001st value
  CHECK(histogram.quantile(0.5) == Approx(50'000).epsilon(1.0 / 2048));
  CHECK(histogram.quantile(0.99) == Approx(99'000).epsilon(1.0 / 2048));
  CHECK(CountHistogram().quantile(0.5) == 0);
}
