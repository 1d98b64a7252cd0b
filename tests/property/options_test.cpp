// No engine option without effect: each one of the resolved scenario, changed, changes the run, or the report says why not.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "scenarios/load/engine_profiles.hpp"
#include "scenarios/report/run_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario_text.hpp"

using namespace ridgeline;

namespace {

// Short of KV memory, prompts longer than a step, a shared prefix: every rule of the scheduler has something to do.
const std::string base = R"(
seed: 3
model: llama-3.2-1b
engine: {profile: vllm-main-2026, max_model_len: 8192, gpu_memory_utilization: 0.2, max_num_batched_tokens: 2048, max_num_seqs: 48}
fleet: [{gpu: l4}]
workload: {arrival: {process: poisson, request_rate: 20}, num_prompts: 120, shared_prefix: {tokens: 64, count: 2},
           input_tokens: {distribution: uniform, min: 200, max: 3000}, output_tokens: {distribution: uniform, min: 50, max: 500}}
)";

std::string replaced(std::string text, const std::string& part, const std::string& by) { return text.replace(text.find(part), part.size(), by); }

// Requests of three priorities, which no generated workload has.
std::string prioritised() {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "ridgeline_options_test.csv";
  std::ofstream out(file);
  out << "arrival_s,input_tokens,output_tokens,priority\n";
  for (int i = 0; i < 120; ++i) out << fmt::format("{:.3f},{},{},{}\n", 0.02 * i, 200 + 37 * i % 2500, 50 + 11 * i % 300, i % 3);
  return file.string();
}

// Without a model, for what follows from it otherwise.
const std::string bare = R"(
cost: {model: constant, step_time: 1 ms}
engine: {profile: vllm-main-2026, num_gpu_blocks_override: 300, max_model_len: 1024, max_num_batched_tokens: 256}
fleet: [{}]
workload: {arrival: all_at_once, num_prompts: 40, input_tokens: 600, output_tokens: 40}
)";

struct Toggle {
  std::string value;
  std::string on = base;
};

Config at(const Config& document, const std::string& path, const std::string& yaml) {
  return document.with(path, Config::parse(yaml, "toggle"));
}

nlohmann::ordered_json report(const Config& document) {
  const Scenario scenario = resolve_scenario(document);
  return run_json(scenario, run(scenario));
}

// Both runs, but for the scenario itself: what a user would compare.
void check_toggle(const std::string& option, const Config& before, const Config& after) {
  nlohmann::ordered_json a = report(before);
  nlohmann::ordered_json b = report(after);
  CHECK(a["scenario"] != b["scenario"]);
  if (a["fingerprint"] != b["fingerprint"]) return;
  const auto explained = [&](const nlohmann::ordered_json& json) {
    return json["options_without_effect"].dump().find(" " + option + ":") != std::string::npos;
  };
  CHECK((explained(a) || explained(b)));
}

}  // namespace

TEST_CASE("toggling any engine option of vLLM changes the run, or the report says why not") {
  const std::map<std::string, Toggle> toggles{
      {"tensor_parallel_size", {"2"}},
      {"dtype", {"float32", replaced(base, "gpu_memory_utilization: 0.2", "gpu_memory_utilization: 0.4")}},
      {"quantization", {"fp8"}},
      {"kv_cache_dtype", {"fp8"}},
      {"max_model_len", {"4096"}},
      {"max_num_seqs", {"8"}},
      {"block_size", {"32"}},
      {"gpu_memory_utilization", {"0.3"}},
      {"num_gpu_blocks_override", {"1200"}},
      {"kv_cache_memory_bytes", {"1 GiB", replaced(base, "gpu_memory_utilization: 0.2, ", "")}},
      {"enforce_eager", {"true"}},
      {"host_overhead", {"{per_step: 40 ms}"}},
      {"max_num_batched_tokens", {"1024"}},
      {"enable_prefix_caching", {"false"}},
      {"enable_chunked_prefill", {"false", replaced(base, "max_num_batched_tokens: 2048", "max_num_batched_tokens: 3600")}},
      {"long_prefill_token_threshold", {"256"}},
      {"scheduling_policy", {"priority", replaced(base, base.substr(base.find("workload:")), "workload: {trace: " + prioritised() + "}\n")}},
      {"async_scheduling", {"false"}},
      {"kv_groups", {"[null, 64]", bare}},
      {"speculative_config", {"{method: eagle, num_speculative_tokens: 2, acceptance: 0.7}"}},
      {"scheduler_reserve_full_isl", {"false"}},
      {"watermark", {"0.2"}},
      {"kv_offloading_size", {"8 GiB"}},
      {"kv_eviction", {"{policy: streaming-llm, sinks: 4, window: 508}"}},
  };
  // Every option of the profile, and whatever else a resolved scenario holds, must have its row here.
  const std::vector<std::string>& options = find_engine_profile("vllm-main-2026")->options;
  std::set<std::string> keys(options.begin(), options.end());
  for (const std::string& yaml : {base, bare}) {
    const Config engine = test::scenario_of(yaml).resolved.find("fleet")->at(0).find("engine").value();
    for (const auto& [key, value] : engine.entries()) keys.insert(key);
  }
  keys.erase("profile");  // its toggle is another engine
  for (const std::string& key : keys) {
    INFO(key);
    CHECK(toggles.count(key) == 1);
  }
  for (const auto& [option, toggle] : toggles) {
    INFO(option << ": " << toggle.value);
    const Config before = Config::parse(toggle.on, "before");
    check_toggle(option, before, at(before, "engine." + option, toggle.value));
  }
}

TEST_CASE("toggling any key of speculative_config changes the run") {
  const std::string roomy = replaced(base, "gpu_memory_utilization: 0.2", "gpu_memory_utilization: 0.5");  // drafters weigh something
  const auto with = [&](const std::string& speculation) {
    return at(Config::parse(roomy, "before"), "engine.speculative_config", "{" + speculation + "}");
  };
  const std::string draft = "method: draft_model, model: qwen2.5-0.5b, num_speculative_tokens: 4, acceptance: 0.6";
  const std::string eagle = "method: eagle, num_speculative_tokens: 4, acceptance: 0.6";
  const std::string ngram = "method: ngram, num_speculative_tokens: 4, acceptance: 0.6";
  const std::pair<std::string, std::string> rows[] = {
      {eagle, "method: eagle3, num_speculative_tokens: 4, acceptance: 0.6"},
      {eagle, ngram},
      {eagle, "method: medusa, num_speculative_tokens: 4, acceptance: 0.6"},
      {eagle, "method: eagle, num_speculative_tokens: 3, acceptance: 0.6"},
      {eagle, "method: eagle, num_speculative_tokens: 4, acceptance: 0.7"},
      {eagle, "method: eagle, num_speculative_tokens: 4, acceptance: [0.6, 0.5]"},
      {eagle, "method: eagle, num_speculative_tokens: 4, unconditional_acceptance: [0.6, 0.5, 0.4, 0.3]"},
      {eagle, "method: eagle, num_speculative_tokens: 4, mean_acceptance_length: 3"},
      {eagle, "method: eagle, num_speculative_tokens: 4, accepted: [2, 1]"},
      {eagle, eagle + ", tree_depth: 2"},
      {eagle + ", tree_depth: 2", eagle + ", tree_depth: 2, tree_topk: 8"},
      {eagle, eagle + ", disable_by_batch_size: 4"},
      {eagle, eagle + ", num_speculative_tokens_by_batch_size: {4: 2}"},
      {eagle, eagle + ", host_overhead: {per_step: 40 ms, per_sequence: 0 us}"},
      {ngram, ngram + ", match_probability: 0.5"},
      {"method: eagle3, num_speculative_tokens: 4, acceptance: 0.6", "method: eagle3, num_speculative_tokens: 4, acceptance: 0.6, draft_vocab_size: 128000"},
  };
  for (const auto& [before, after] : rows) {
    INFO(before << " -> " << after);
    check_toggle("speculative_config", with(before), with(after));
  }
  const auto of_qwen = [&](const std::string& speculation) { return at(with(speculation), "model", "qwen2.5-1.5b"); };
  check_toggle("speculative_config", of_qwen(draft), of_qwen(draft + ", quantization: int4"));
}
