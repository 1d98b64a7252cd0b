// Every mistake of a user gets its place, its key and what was expected; all of a file at once.
#include <filesystem>
#include <fstream>
#include <limits>

#include "sim/base/config.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

struct BadInput {
  std::string what;
  std::string yaml;
  std::vector<std::string> expected;  // parts of the message
};

std::string h100(const std::string& pool = "", const std::string& rest = "", const std::string& workload = "{request_rate: 1, num_prompts: 10, input_tokens: 100, output_tokens: 10}") {
  return "model: llama-3.1-8b\nfleet:\n  - {gpu: h100-sxm-80gb" + pool + "}\nworkload: " + workload + "\n" + rest;
}

const std::vector<BadInput> table{
    {"unknown key at the top", h100("", "rooter: random\n"), {"test.yaml:5:9: rooter: unknown key; did you mean `router`?"}},
    {"unknown key of a pool", h100(", replica: 2"), {"fleet[0].replica: unknown key; did you mean `replicas`?"}},
    {"unknown engine option", h100(", engine: {max_num_seq: 3}"), {"fleet[0].engine.max_num_seq: unknown key; did you mean `max_num_seqs`"}},
    {"a shared mistake once, where it stands", h100("", "engine: {max_num_seq: 3}\n"), {"test.yaml:5:23: engine.max_num_seq: unknown key"}},
    {"wrong type", h100(", replicas: two"), {"test.yaml:3:36: fleet[0].replicas: expected a whole number"}},
    {"text for a flag", h100(", engine: {enable_prefix_caching: maybe}"), {"expected true or false, got `maybe`"}},
    {"a list for a map", h100("", "engine: [1, 2]\n"), {"engine: expected a map of engine options"}},
    {"missing unit", h100("", "cost: {model: constant, step_time: 5}\n"), {"cost.step_time: `5` needs a unit"}},
    {"wrong unit", h100("", "cost: {model: constant, step_time: 5 GiB}\n"), {"cost.step_time: unknown unit `GiB`"}},
    {"unit of another quantity", h100(", engine: {kv_cache_memory_bytes: 3 TB/s}"), {"kv_cache_memory_bytes: unknown unit `TB/s`"}},
    {"duplicate key", "seed: 1\nseed: 2\n", {"test.yaml:2:1: seed: duplicate key, first given at line 1"}},
    {"not YAML", "fleet: [\n", {"test.yaml:", "not valid YAML"}},
    {"zero replicas", h100(", replicas: 0"), {"fleet[0].replicas: expected a whole number of at least 1"}},
    {"a fraction of a replica", h100(", replicas: 1.5"), {"fleet[0].replicas: expected a whole number"}},
    {"no fleet", "workload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"fleet: is missing"}},
    {"empty fleet", "fleet: []\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"fleet: expected a list of pools"}},
    {"no workload", "model: llama-3.1-8b\nfleet: [{gpu: h100-sxm-80gb}]\n", {"workload: is missing"}},
    {"no GPU", "model: llama-3.1-8b\nfleet: [{}]\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"fleet[0].gpu: is missing"}},
    {"unknown GPU", "model: llama-3.1-8b\nfleet: [{gpu: h100-sxm-80g}]\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"test.yaml:2:15: fleet[0].gpu:", "h100-sxm-80gb"}},
    {"unknown model", "model: lama-3.1-8b\nfleet: [{gpu: h100-sxm-80gb}]\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"test.yaml:1:8: model:", "llama-3.1-8b"}},
    {"unknown engine", h100(", engine: {profile: vllm-2}"), {"unknown engine `vllm-2`; did you mean `vllm-v0`?"}},
    {"unknown router", h100("", "router: least-outstandin\n"), {"router: unknown router `least-outstandin`; did you mean `least-outstanding`?"}},
    {"unknown quantisation", h100(", engine: {quantization: fp9}"), {"fp9"}},
    {"two pools of one name", "model: llama-3.1-8b\nfleet: [{name: a, gpu: l40s}, {name: a, gpu: l40s}]\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"a second pool named `a`"}},
    {"negative rate", h100("", "", "{request_rate: -1, num_prompts: 10, input_tokens: 100, output_tokens: 10}"), {"workload.request_rate:", "-1"}},
    {"NaN rate", h100("", "", "{request_rate: .nan, num_prompts: 10, input_tokens: 100, output_tokens: 10}"), {"workload.request_rate:", ".nan"}},
    {"an infinite length", h100("", "", "{request_rate: 1, num_prompts: 10, input_tokens: .inf, output_tokens: 10}"), {"workload.input_tokens"}},
    {"10 GB as a length", h100("", "", "{request_rate: 1, num_prompts: 10, input_tokens: 10000000000, output_tokens: 10}"), {"workload.input_tokens"}},
    {"a size as a length", h100("", "", "{request_rate: 1, num_prompts: 10, input_tokens: 10 GB, output_tokens: 10}"), {"workload.input_tokens"}},
    {"utilisation above one", h100(", engine: {gpu_memory_utilization: 1.2}"), {"gpu_memory_utilization: expected a number above 0 and at most 1"}},
    {"TP that does not divide the heads", h100(", engine: {tensor_parallel_size: 3}"), {"tensor_parallel_size:", "1, 2, 4, 8"}},
    {"a model that does not fit", "model: llama-3.1-405b\nfleet: [{gpu: h100-sxm-80gb}]\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 1, output_tokens: 1}\n", {"test.yaml:1:8: model: `llama-3.1-405b` does not fit", "tensor_parallel_size 16"}},
    {"a context beyond the model's", h100(", engine: {max_model_len: 1000000}"), {"max_model_len: 1000000 is beyond the 131072 tokens"}},
    {"blocks beyond the card", h100(", engine: {num_gpu_blocks_override: 1000000}"), {"num_gpu_blocks_override: 1000000 blocks", "at most"}},
    {"pipeline parallelism", h100(", engine: {pipeline_parallel_size: 2}"), {"pipeline_parallel_size: pipeline parallelism is not simulated in this version; expected 1"}},
    {"data parallelism", h100(", engine: {data_parallel_size: 2}"), {"data_parallel_size:", "`replicas`"}},
    {"expert parallelism", h100(", engine: {enable_expert_parallel: true}"), {"enable_expert_parallel: expert parallelism is not simulated"}},
    {"another engine's option", h100(", engine: {capacity_policy: max_utilization}"), {"capacity_policy: engine `vllm-main-2026` has no such option; `tensorrt-llm` have it"}},
    {"an option newer than the engine", h100(", engine: {profile: vllm-0.11, watermark: 0.1}"), {"watermark: engine `vllm-0.11` has no such option"}},
    {"an option without effect", h100(", engine: {kv_cache_memory_bytes: 20 GiB, gpu_memory_utilization: 0.9}"), {"gpu_memory_utilization: has no effect beside `kv_cache_memory_bytes`"}},
    {"a missing table", h100("", "cost: {model: table, table: nowhere.csv}\n"), {"cost.table: no such file `nowhere.csv`"}},
    {"a step time nobody uses", h100("", "cost: {model: roofline, step_time: 1 ms}\n"), {"cost.step_time: only `model: constant` has a step time"}},
    {"an objective without limits", h100("", "slo: {percentile: 99}\n"), {"slo: an objective needs a limit"}},
    {"an objective judged twice", h100("", "slo: {ttft_ms: 1, percentile: 99, goodput: 0.9}\n"), {"slo.goodput: excludes `percentile`"}},
    {"a percentile that is not kept", h100("", "slo: {ttft_ms: 1, percentile: 98}\n"), {"slo.percentile: expected one of 50, 90, 95, 99"}},
    {"an unknown drafter", h100(", engine: {speculative_config: {method: eagel, num_speculative_tokens: 3, acceptance: 0.5}}"), {"speculative_config.method: unknown", "eagle"}},
    {"drafts without acceptance", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 3}}"), {"expected exactly one of `acceptance`"}},
    {"acceptance stated twice", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 3, acceptance: 0.5, mean_acceptance_length: 2}}"), {"expected exactly one of `acceptance`"}},
    {"more rates than drafts", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 2, acceptance: [0.5, 0.4, 0.3]}}"), {"3 rates, but at most 2 drafts"}},
    {"unconditional rates that rise", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 2, unconditional_acceptance: [0.5, 0.6]}}"), {"unconditional_acceptance: can't rise"}},
    {"an acceptance length beyond the drafts", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 2, mean_acceptance_length: 4}}"), {"mean_acceptance_length:"}},
    {"a draft model without a name", h100(", engine: {speculative_config: {method: draft_model, num_speculative_tokens: 2, acceptance: 0.5}}"), {"method draft_model needs `model`"}},
    {"a draft of another vocabulary", h100(", engine: {speculative_config: {method: draft_model, model: llama-2-7b, num_speculative_tokens: 2, acceptance: 0.5}}"), {"a draft model must share the target's"}},
    {"a model for a head", h100(", engine: {speculative_config: {method: eagle, model: llama-3.2-1b, num_speculative_tokens: 2, acceptance: 0.5}}"), {"only `draft_model` names a model"}},
    {"MTP without such a layer", h100(", engine: {speculative_config: {method: mtp, num_speculative_tokens: 1, acceptance: 0.5}}"), {"has no multi-token-prediction layer"}},
    {"a match probability of a drafter that always drafts", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 1, acceptance: 0.5, match_probability: 0.5}}"), {"only `ngram` may find no drafts"}},
    {"a tree of a chain drafter", h100(", engine: {speculative_config: {method: draft_model, model: llama-3.2-1b, tree_depth: 2, num_speculative_tokens: 4, acceptance: 0.5}}"), {"only eagle, eagle3 and medusa draft trees"}},
    {"n-gram ahead of the tokens", h100(", engine: {async_scheduling: true, speculative_config: {method: ngram, num_speculative_tokens: 2, acceptance: 0.5}}"), {"async_scheduling: drafts of `ngram` need the host"}},
    {"a missing acceptance table", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 2, acceptance_table: nowhere.csv}}"), {"nowhere.csv"}},
    {"k by batch size beyond k", h100(", engine: {speculative_config: {method: eagle, num_speculative_tokens: 2, acceptance: 0.5, num_speculative_tokens_by_batch_size: {8: 3}}}"), {"num_speculative_tokens_by_batch_size"}},
    {"speculation of an engine without it", h100(", engine: {profile: vllm-v0, speculative_config: {method: eagle, num_speculative_tokens: 2, acceptance: 0.5}}"), {"speculative_config: engine `vllm-v0` has no such option"}},
    {"a missing trace", h100("", "", "{trace: nowhere.csv}"), {"nowhere.csv"}},
};

}  // namespace

TEST_CASE("Each mistake is named with its place") {
  for (const BadInput& row : table) {
    INFO(row.what << "\n" << row.yaml);
    const std::string message = mistakes_in(row.yaml);
    INFO(message);
    for (const std::string& part : row.expected) {
      INFO("expected: " << part);
      CHECK(message.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("All mistakes of a file come at once") {
  const std::string message = mistakes_in("seed: -1\nmodel: llama-3.1-8b\nfleet:\n  - {gpu: h100-sxm-80gb, replicas: 0, engine: {block_size: x}}\n"
                                          "router: nearest\nworkload: {request_rate: -3, num_prompts: 5, input_tokens: 5, output_tokens: 5}\n");
  for (const char* key : {"seed:", "fleet[0].replicas:", "fleet[0].engine.block_size:", "router:", "workload.request_rate:"}) {
    INFO(key << " in\n" << message);
    CHECK(message.find(key) != std::string::npos);
  }
}

TEST_CASE("A mistake in a default that pools share is reported once") {
  const std::string message = mistakes_in("model: llama-3.1-8b\nengine: {max_num_seqs: many}\nfleet: [{gpu: l40s}, {gpu: h100-sxm-80gb}]\n"
                                          "workload: {request_rate: 1, num_prompts: 5, input_tokens: 5, output_tokens: 5}\n");
  const std::string key = "engine.max_num_seqs:";
  const std::size_t first = message.find(key);
  REQUIRE(first != std::string::npos);
  CHECK(message.find(key, first + 1) == std::string::npos);
}

TEST_CASE("An alias bomb is refused before it unfolds") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  CHECK(mistakes_in(bomb).find("more than 200000 values") != std::string::npos);
}

TEST_CASE("Files that are none") {
  const auto message = [](const std::filesystem::path& file) -> std::string {
    try {
      (void)load_scenario(file);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("/nowhere/scenario.yaml") == "/nowhere/scenario.yaml: no such file");
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  CHECK(message(folder).find("is a directory, expected a YAML file") != std::string::npos);
}

TEST_CASE("Overrides name themselves") {
  const Config document = Config::parse(one_gpu("h100-sxm-80gb"), "test.yaml");
  CHECK_THROWS_WITH(with_override(document, "fleet"), "`--set fleet`: expected path.to.key=VALUE");
  CHECK_THROWS_AS(with_override(document, "fleet[3].replicas=1"), ConfigError);
  try {
    (void)resolve_scenario(with_override(document, "fleet[0].replicas=0"));
    FAIL("zero replicas were accepted");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()) ==
          "--set fleet[0].replicas=0: fleet[0].replicas: expected a whole number of at least 1 and at most 100000, got `0`");
  }
}
