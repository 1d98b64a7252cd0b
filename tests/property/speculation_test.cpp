// Speculative decoding against its closed forms: what a step yields, and where it breaks even.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "scenarios/report/run_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;
using ridgeline::test::run_text;
using ridgeline::test::scenario_of;

namespace {

// 40 requests of 2,000 tokens, equal steps: only the draws decide.
std::string drawn(const std::string& speculation, int seed = 1) {
  return fmt::format(R"(
seed: {}
cost: {{model: constant, step_time: 1 ms}}
engine: {{num_gpu_blocks_override: 20000, max_model_len: 4096, max_num_seqs: 64, speculative_config: {{{}}}}}
fleet: [{{}}]
workload: {{arrival: all_at_once, num_prompts: 40, input_tokens: 16, output_tokens: 2000}}
)",
                     seed, speculation);
}

SpeculationMetrics measured(const std::string& speculation) {
  return run_text(drawn(speculation)).metrics.fleet.speculation.value();
}

// Tokens per step lie in [1, 1 + most], so a mean of n draws has a standard error of at most most / (2 sqrt(n)).
double sampling_error(const SpeculationMetrics& m, int most) { return 0.5 * most / std::sqrt(static_cast<double>(m.decodes)); }

// The last step of a request may be cut short: at most `most` tokens in each of 40 requests.
double cut(const SpeculationMetrics& m, int most) { return 40.0 * most / static_cast<double>(m.decodes); }

}  // namespace

TEST_CASE("a verify step yields what the closed forms say") {
  struct Row {
    std::string speculation;
    double tokens_per_step;
    int most;
  };
  const Row rows[] = {
      // E = (1 - a^(k+1)) / (1 - a)
      {"method: eagle, num_speculative_tokens: 5, acceptance: 0.7", (1 - std::pow(0.7, 6)) / 0.3, 5},
      {"method: draft_model, num_speculative_tokens: 1, acceptance: 0.5", 1.5, 1},
      {"method: eagle, num_speculative_tokens: 8, acceptance: 0", 1.0, 8},
      {"method: eagle, num_speculative_tokens: 8, acceptance: 1", 9.0, 8},
      // E = 1 + sum of p_i; p = 0.8, 0.48, 0.192
      {"method: eagle, num_speculative_tokens: 3, acceptance: [0.8, 0.6, 0.4]", 2.472, 3},
      {"method: eagle, num_speculative_tokens: 3, unconditional_acceptance: [0.8, 0.48, 0.192]", 2.472, 3},
      {"method: eagle, num_speculative_tokens: 6, mean_acceptance_length: 2.4", 2.4, 6},
      // Tree: E = 1 + 0.9 + 0.9 x 0.7 + 0.9 x 0.7 x 0.5
      {"method: eagle, num_speculative_tokens: 15, tree_depth: 3, tree_topk: 4, acceptance: [0.9, 0.7, 0.5]", 2.845, 3},
      {"method: medusa, num_speculative_tokens: 31, tree_depth: 4, acceptance: 0.6", 1 + 0.6 + 0.36 + 0.216 + 0.1296, 4},
      // Drafts after 30 % of the steps: E = 0.3 x (1 + 0.5 + 0.25) + 0.7
      {"method: ngram, num_speculative_tokens: 2, acceptance: 0.5, match_probability: 0.3", 1.225, 2},
  };
  for (const Row& row : rows) {
    INFO(row.speculation);
    const SpeculationMetrics m = measured(row.speculation);
    CHECK(std::abs(m.output_tokens_per_step() - row.tokens_per_step) < 4 * sampling_error(m, row.most) + cut(m, row.most));
    CHECK(scenario_of(drawn(row.speculation)).fleet.front().engine.speculation.has_value());
  }
}

TEST_CASE("acceptance length and waste count what was verified") {
  const SpeculationMetrics m = measured("method: eagle, num_speculative_tokens: 4, accepted: [4, 0, 1, 3]");
  // 8 of 16 drafts a cycle; vLLM's acceptance length is 1 + accepted / drafts = 1 + 8 / 4.
  CHECK(m.mean_acceptance_length() == Approx(3.0).epsilon(0.01));
  CHECK(m.acceptance_rate() == Approx(0.5).epsilon(0.01));
  CHECK(m.draft_tokens == 4 * m.drafts);
  // Steps with 5 tokens a sequence, 2 of them rejected on average, all equally long.
  CHECK(m.rejected == Approx(2.0 / 5.0).epsilon(0.02));
}

TEST_CASE("n-gram counts only the steps that have drafts") {
  const SpeculationMetrics m = measured("method: ngram, num_speculative_tokens: 2, acceptance: 0.5, match_probability: 0.3");
  CHECK(static_cast<double>(m.drafts) / static_cast<double>(m.decodes) == Approx(0.3).epsilon(0.02));
  CHECK(m.mean_acceptance_length() == Approx(1.75).epsilon(0.01));
}

TEST_CASE("conditional and unconditional rates of one drafter give one run") {
  const auto run_of = [](const std::string& rates) {
    return run_text(drawn("method: eagle, num_speculative_tokens: 2, " + rates)).fingerprint;
  };
  CHECK(run_of("acceptance: [0.5, 0.5]") == run_of("unconditional_acceptance: [0.5, 0.25]"));
  CHECK(run_of("acceptance: [0.5, 0.5]") != run_of("unconditional_acceptance: [0.5, 0.5]"));
}

TEST_CASE("drafts follow the batch size") {
  // 40 sequences at once: above 32, so never a draft; above 64 it would be.
  CHECK(measured("method: eagle, num_speculative_tokens: 4, acceptance: 1, disable_by_batch_size: 32").drafts == 0);
  CHECK(measured("method: eagle, num_speculative_tokens: 4, acceptance: 1, disable_by_batch_size: 64").output_tokens_per_step() > 4.9);
  const SpeculationMetrics two =
      measured("method: eagle, num_speculative_tokens: 4, acceptance: 1, num_speculative_tokens_by_batch_size: {32: 2, 64: 0}");
  CHECK(two.output_tokens_per_step() == Approx(3.0).epsilon(0.01));
}

namespace {

// One stream of Llama-3.1-8B on an H100, host time aside: only the GPU decides.
std::string one_stream(const std::string& model, const std::string& speculation) {
  return fmt::format(R"(
model: {}
engine: {{profile: vllm-0.11, max_model_len: 4096, host_overhead: {{per_step: 0 us, per_sequence: 0 us}}{}}}
fleet: [{{gpu: h100-sxm-80gb}}]
workload: {{arrival: all_at_once, max_concurrency: 1, num_prompts: 4, input_tokens: 512, output_tokens: 2000}}
)",
                     model, speculation);
}

double ms_per_token(const std::string& model, const std::string& speculation = "") {
  return run_text(one_stream(model, speculation)).metrics.tpot.mean;
}

std::string drafts(int k, double acceptance) {
  return fmt::format(", speculative_config: {{method: draft_model, model: llama-3.2-1b, num_speculative_tokens: {}, acceptance: {}}}", k, acceptance);
}

double closed_form(double a, int k) { return (1 - std::pow(a, k + 1)) / (1 - a); }

}  // namespace

TEST_CASE("speed-up is E / (k c + 1), and 1 where that is 1") {
  // c from the two models each on its own: the step time of the draft over the target's.
  const double target = ms_per_token("llama-3.1-8b");
  const double c = ms_per_token("llama-3.2-1b") / target;
  CHECK(c > 0.1);
  CHECK(c < 0.3);
  for (const int k : {2, 4, 8}) {
    const double cost = k * c + 1;
    for (const double acceptance : {0.3, 0.6, 0.9}) {
      INFO("k " << k << ", acceptance " << acceptance << ", c " << c);
      // Verifying k + 1 rows costs a little more than the closed form's one step: a few per cent, never a gain.
      const double speedup = target / ms_per_token("llama-3.1-8b", drafts(k, acceptance));
      CHECK(speedup / (closed_form(acceptance, k) / cost) > 0.90);
      CHECK(speedup / (closed_form(acceptance, k) / cost) < 1.03);
    }
    // Bisect for E(a) = k c + 1, then stand a little to either side of it.
    double low = 0, high = 0.999;
    for (int i = 0; i < 40; ++i) {
      const double middle = 0.5 * (low + high);
      (closed_form(middle, k) < cost ? low : high) = middle;
    }
    INFO("k " << k << ": breaks even at " << low);
    CHECK(ms_per_token("llama-3.1-8b", drafts(k, low - 0.05)) > target);
    CHECK(ms_per_token("llama-3.1-8b", drafts(k, low + 0.08)) < target);
  }
}

TEST_CASE("a drafter takes memory: its weights, and a wider block") {
  const auto budget = [](const std::string& speculation) { return scenario_of(one_stream("llama-3.1-8b", speculation)).fleet.front(); };
  const Pool plain = budget("");
  const Pool draft = budget(drafts(4, 0.5));
  const Pool eagle = budget(", speculative_config: {method: eagle, num_speculative_tokens: 4, acceptance: 0.5}");
  const Pool medusa = budget(", speculative_config: {method: medusa, num_speculative_tokens: 4, acceptance: 0.5}");
  const Pool ngram = budget(", speculative_config: {method: ngram, num_speculative_tokens: 4, acceptance: 0.5}");
  // Llama-3.1-8B: 32 layers of 8 KV heads x 128, bf16: 131,072 bytes a token. The 1B draft: 16 layers of 8 x 64, 32,768.
  CHECK(plain.memory->layout.block_bytes() == Bytes{16 * 131072});
  CHECK(draft.memory->layout.block_bytes() == Bytes{16 * (131072 + 32768)});
  CHECK(eagle.memory->layout.block_bytes() == Bytes{16 * (131072 + 4096)});
  CHECK(medusa.memory->layout.block_bytes() == plain.memory->layout.block_bytes());
  CHECK(ngram.engine.num_gpu_blocks == plain.engine.num_gpu_blocks);
  // Llama-3.2-1B: 1,235,814,400 parameters.
  CHECK(draft.memory->drafter_weights == Bytes{2 * 1235814400LL});
  // One layer (q 4096 x 4096, k and v 1024, o 4096, MLP 3 x 14336, two norms), one outer norm, 8192 -> 4096.
  const std::int64_t layer = 4096LL * (4096 + 2 * 1024 + 4096 + 3 * 14336) + 2 * 4096;
  CHECK(eagle.memory->drafter_weights == Bytes{2 * (layer + 4096 + 8192 * 4096)});
  // Four heads of 4096 x 4096 and 128,256 x 4096.
  CHECK(medusa.memory->drafter_weights == Bytes{2 * 4 * 4096LL * (4096 + 128256)});
  CHECK(draft.engine.num_gpu_blocks < eagle.engine.num_gpu_blocks);
  CHECK(eagle.engine.num_gpu_blocks < plain.engine.num_gpu_blocks);
}
