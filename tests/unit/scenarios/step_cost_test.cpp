// Decode steps are interpolated over their mean context: how far from pricing every context by itself?
#include "scenarios/build/step_cost.hpp"
#include "sim/cost/context_knots.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;

TEST_CASE("context knots: every 16 tokens, then 64 to the octave") {
  const auto at = [](std::int64_t context) { return ContextKnots::around(context); };
  CHECK(at(0).index == 0);
  CHECK(at(15).lower == 0);
  CHECK(at(16).index == 1);
  CHECK(at(1023).lower == 1008);  // 1024 - 16
  CHECK(at(1024).index == 64);    // 1024 / 16
  CHECK(at(1024).spacing == 16);  // an octave of 1,024 tokens in 64 steps
  CHECK(at(2048).index == 128);
  CHECK(at(100'000).spacing == 1024);  // octave 65,536 to 131,072
  for (std::int64_t context = 0; context < 40'000; ++context) {
    const ContextKnots::Interval interval = at(context);
    REQUIRE(interval.lower <= context);
    REQUIRE(context < interval.lower + interval.spacing);
    REQUIRE(at(interval.lower + interval.spacing).index == interval.index + 1);
  }
}

TEST_CASE("an interpolated decode step is within 0.2 % of its operators priced at its own context") {
  for (const char* gpu : {"h100-sxm-80gb", "a100-sxm-80gb"}) {
    const Scenario scenario = test::scenario_from(test::one_gpu(gpu));
    const Pool& pool = scenario.fleet.front();
    const auto model = make_work_model(pool);
    const auto device = make_device(scenario, pool);
    const auto cost = make_step_cost(scenario, pool);
    for (const std::int64_t sequences : {1, 3, 16, 64, 200}) {
      for (const std::int64_t context : {17, 100, 1000, 2047, 5000, 11'111, 40'001}) {
        BatchShape batch;
        batch.decode_sequences = batch.sampled_sequences = sequences;
        batch.decode_queries = Tokens{sequences};
        batch.decode_context = batch.decode_context_in_window = Tokens{sequences * context};
        BatchShape padded = batch;  // CUDA-graph rows take time
        padded.padding = Tokens{[&] {
          for (const std::int64_t size : pool.cudagraph_capture_sizes) {
            if (size >= sequences) return size - sequences;
          }
          return std::int64_t{0};
        }()};
        Duration exact;
        for (const Op& op : model->lower(padded).ops) exact += device->price(op).time * op.repeats;
        INFO(gpu << ", " << sequences << " sequences at " << context);
        CHECK(cost->of(batch).gpu.seconds() == Approx(exact.seconds()).epsilon(0.002));
      }
    }
  }
}
