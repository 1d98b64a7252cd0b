// The scenarios about KV memory and batching that ship with the project, run whole: each must point where its comment says.
#include <map>
#include <string>
#include <vector>

#include "scenarios/build/run.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;

namespace {

/// Every point of scenarios/NAME.yaml by its label, as `ridgeline sweep` names them.
std::map<std::string, RunMetrics> points_of(const std::string& name) {
  std::map<std::string, RunMetrics> points;
  const auto file = test::source_folder() / "scenarios" / (name + ".yaml");
  for (const ScenarioPoint& point : expand(Config::load(file.string()))) {
    points.emplace(point.label, run(resolve_scenario(point.document)).metrics);
  }
  return points;
}

}  // namespace

TEST_CASE("swap-vs-recompute: swap pays with large blocks, recompute with small ones") {
  const auto points = points_of("swap-vs-recompute");
  const auto gain = [&](const std::string& block) {
    const RunMetrics& swap = points.at("swap, engine.block_size=" + block);
    const RunMetrics& recompute = points.at("recompute, engine.block_size=" + block);
    CHECK(swap.fleet.swapped_out.sequences == swap.fleet.preemptions);
    CHECK(swap.fleet.swapped_in.bytes == swap.fleet.swapped_out.bytes);
    CHECK(swap.fleet.scheduled_tokens < recompute.fleet.scheduled_tokens);
    CHECK(recompute.fleet.preemptions > 100);
    return swap.output_throughput / recompute.output_throughput;
  };
  // Copies of 16, 32 and 64 KiB at 5 us each: 3.3, 6.6 and 13.1 GB/s, where recomputation makes 128 KiB a token at the rate of a prefill.
  const double small = gain("8"), medium = gain("16"), large = gain("32");
  INFO(small << ' ' << medium << ' ' << large);
  CHECK(small < 0.97);
  CHECK(medium > small);
  CHECK(medium == Approx(1.0).margin(0.05));  // "comparable from 16 to 64" (Kwon et al., SOSP 2023, section 7.3)
  CHECK(large > 1.0);
}

TEST_CASE("paged-vs-contiguous: PagedAttention is worth 2 to 4 times the throughput of max_model_len reservations") {
  const auto points = points_of("paged-vs-contiguous");
  const RunMetrics& max = points.at("max");
  const RunMetrics& paged = points.at("paged");
  const double gain = paged.output_throughput / max.output_throughput;
  INFO(gain);
  CHECK(gain > 2.0);
  CHECK(gain < 4.0);
  CHECK(points.at("pow2").output_throughput > max.output_throughput);
  CHECK(points.at("oracle").output_throughput > points.at("pow2").output_throughput);
  CHECK(paged.output_throughput > points.at("oracle").output_throughput);
  // 12 GiB of 800 KiB a token: 15,728 tokens, seven ranges of 2,048. Paged, a sequence holds what it has computed.
  CHECK(max.fleet.running_mean < 7);
  CHECK(paged.fleet.running_mean > 4 * max.fleet.running_mean);
  // The paper's figure 2: token states fill 20.4 % of Orca (Max)'s memory, 57.3 % is internal, 13.3 % reserved; vLLM wastes below 4 %.
  const KvWasteMetrics& waste = max.fleet.kv_waste.value();
  CHECK(max.fleet.kv_cache_usage_mean - waste.reserved - waste.internal == Approx(0.204).margin(0.05));
  CHECK(waste.internal == Approx(0.573).margin(0.06));
  CHECK(waste.reserved == Approx(0.133).margin(0.04));
  CHECK(paged.fleet.kv_waste->internal < 0.04);
}

TEST_CASE("static-vs-continuous: throughput climbs, the first token comes sooner, each token takes longer") {
  const auto points = points_of("static-vs-continuous");
  const std::vector<std::string> order{"static", "static-early-free", "orca", "vllm"};
  for (std::size_t i = 1; i < order.size(); ++i) {
    INFO(order[i]);
    CHECK(points.at(order[i]).output_throughput > 1.05 * points.at(order[i - 1]).output_throughput);
    CHECK(points.at(order[i]).ttft.p50 < points.at(order[i - 1]).ttft.p50);
    CHECK(points.at(order[i]).fleet.running_mean > (i == 1 ? 0.0 : points.at(order[i - 1]).fleet.running_mean));
  }
  CHECK(points.at("vllm").output_throughput > 3 * points.at("static").output_throughput);
  CHECK(points.at("vllm").tpot.p50 > 1.5 * points.at("static-early-free").tpot.p50);
}

TEST_CASE("streaming-llm: KV bytes and time per token stay flat as the context grows") {
  const auto points = points_of("streaming-llm");
  const auto at = [&](const char* policy, const char* tokens) -> const RunMetrics& {
    return points.at(std::string(policy) + ", workload.input_tokens=" + tokens);
  };
  for (const char* policy : {"streaming-llm", "h2o"}) {
    INFO(policy);
    // Decoding steps of eight sequences: the median gap, which no prompt disturbs.
    CHECK(at(policy, "48k").itl.p50 == Approx(at(policy, "4k").itl.p50).epsilon(0.001));
    // 7 x 1,000 + 7 tokens short of all: every token beyond 1,024 a sequence was dropped.
    CHECK(at(policy, "48k").fleet.kv_evicted_tokens == 8 * (49'152 + 999 - 1'024));
  }
  CHECK(at("full", "48k").itl.p50 > 2.5 * at("full", "4k").itl.p50);
  // Blocks of 8 sequences at their peak: 1,024 tokens each and pieces of prompts, 8,192 tokens a step.
  const auto blocks = [](const RunMetrics& metrics) {
    return metrics.fleet.kv_cache_usage_peak * static_cast<double>(metrics.fleet.facts.num_gpu_blocks - 1);
  };
  CHECK(blocks(at("streaming-llm", "48k")) <= 8 * 1024 / 16 + 8192 / 16 + 8);
  CHECK(blocks(at("full", "48k")) > 8 * 49'152 / 16);
}

TEST_CASE("kv-offload: prefixes come back from the host") {
  const auto points = points_of("kv-offload");
  const RunMetrics& plain = points.at("gpu-only");
  const RunMetrics& tier = points.at("offload");
  CHECK(tier.fleet.prefix_cache_hit_rate() > plain.fleet.prefix_cache_hit_rate() + 0.2);
  CHECK(tier.output_throughput > plain.output_throughput);
  CHECK(tier.ttft.p50 < plain.ttft.p50);
  CHECK(tier.fleet.offload_loaded.bytes > 0);
  CHECK(plain.fleet.offload_stored.bytes == 0);
  CHECK(plain.fleet.prefix_cache_evicted_blocks > 0);
}
