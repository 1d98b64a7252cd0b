// ridgeline explain SCENARIO.yaml, or a step of --model M --gpu G
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/config_json.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/resolve_all.hpp"
#include "scenarios/load/resolve_pool.hpp"
#include "scenarios/report/explain.hpp"
#include "scenarios/report/html/explanation_page.hpp"
#include "scenarios/report/run_explanation_report.hpp"
#include "scenarios/report/run_table.hpp"
#include "scenarios/study/parallel.hpp"

namespace ridgeline::cli {

namespace {

struct PoolOption {
  const char* option;
  const char* placeholder;
  const char* path;  // key of the pool
  const char* description;
};

constexpr PoolOption pool_options[] = {
    {"model", "MODEL", "model", "catalog name or path of a config.json"},
    {"gpu", "GPU", "gpu", "catalog name or path of a YAML file"},
    {"node", "NODE", "node", "node type (default: what the GPU is usually sold in)"},
    {"tp", "N", "engine.tensor_parallel_size", "tensor parallel size"},
    {"dtype", "TYPE", "engine.dtype", "float16, bfloat16, float32 or auto"},
    {"quantization", "METHOD", "engine.quantization", "weights: fp8, awq, gptq, int8, ..."},
    {"kv-cache-dtype", "TYPE", "engine.kv_cache_dtype", "KV cache: auto, fp8, int8, ..."},
    {"engine", "PROFILE", "engine.profile", "engine profile (see `ridgeline list engines`)"},
    {"max-model-len", "N", "engine.max_model_len", "longest request, in tokens"},
    {"max-num-batched-tokens", "N", "engine.max_num_batched_tokens", "token budget of a step"},
    {"max-num-seqs", "N", "engine.max_num_seqs", "most requests in a batch"},
    {"block-size", "N", "engine.block_size", "tokens in a KV block"},
    {"gpu-memory-utilization", "SHARE", "engine.gpu_memory_utilization", "share of GPU memory the engine takes"},
    {"kv-cache-memory-bytes", "SIZE", "engine.kv_cache_memory_bytes", "KV memory of one GPU, like 36 GiB"},
    {"host-overhead", "MAP", "engine.host_overhead", "like {per_step: 500 us, per_sequence: 10 us, overlapped: true}"},
};

// The pool that the command line describes, as if it stood in a scenario.
Config described_pool(const Options& options) {
  Config pool = Config::make_map({}, "");
  for (const PoolOption& row : pool_options) {
    if (const auto value = options.get(row.option)) pool = pool.with(row.path, command_line_value(*value, fmt::format("--{}", row.option)));
  }
  for (const std::string& assignment : options.all("set")) pool = with_override(pool, assignment);
  return pool;
}

std::vector<Pool> pools_to_explain(const Options& options, std::string& warnings) {
  std::vector<Pool> pools;
  std::vector<Diagnostic> found;
  if (options.operands().empty()) {
    if (!options.has("model") || !options.has("gpu")) {
      throw ConfigError("ridgeline explain: expected a scenario, or --model and --gpu; see `ridgeline explain --help`");
    }
    Diagnostics errors;
    ResolvedPool resolved = resolve_pool(described_pool(options), 0, CostConfig{}, errors, found, FitRule::warn);
    errors.throw_if_any();
    pools.push_back(std::move(resolved.pool));
  } else {
    for (const PoolOption& row : pool_options) {
      if (options.has(row.option)) throw ConfigError(fmt::format("--{}: with a scenario, use --set {}=...", row.option, row.path));
    }
    for (LabelledScenario& labelled : resolve_all(expand(load_document(options.operand(), scenario_options(options))))) {
      for (Pool& pool : labelled.scenario.fleet) {
        if (!pool.gpu || !pool.model) throw ConfigError(fmt::format("pool `{}` has no GPU or no model to explain", pool.name));
        pools.push_back(std::move(pool));
      }
      found.insert(found.end(), labelled.scenario.warnings.begin(), labelled.scenario.warnings.end());
    }
  }
  for (const Diagnostic& warning : found) warnings += "warning: " + warning.message + "\n";
  return pools;
}

// What only one of the two kinds of explanation listens to.
constexpr const char* step_options[] = {"batch", "context", "prompt"};
constexpr const char* run_options[] = {"replications", "uncertainty", "jobs", "html", "progress"};

bool explains_steps(const Options& options) {
  return options.operands().empty() || std::any_of(std::begin(step_options), std::end(step_options), [&](const char* name) { return options.has(name); });
}

void explain_steps(const Options& options) {
  for (const char* name : run_options) {
    if (options.has(name)) throw ConfigError(fmt::format("--{}: only for a scenario's whole run, without --batch, --context or --prompt", name));
  }
  constexpr std::int64_t most = 100'000'000;
  const auto batch = options.integer("batch", 1, 1'000'000);
  const auto context = options.integer("context", 1, most);
  const auto prompt = options.integer("prompt", 1, most);

  Outputs outputs;
  AtomicFile* json = outputs.open(options.get("json"));
  std::string warnings;
  std::vector<Explanation> explanations;
  for (const Pool& pool : pools_to_explain(options, warnings)) {
    if (pool.model->encoder && context) throw ConfigError("--context: an encoder keeps no context; --prompt is the length of its input");
    ExplainedBatch asked;
    asked.batch = batch.value_or(1);
    asked.context = context.value_or(std::min<std::int64_t>(4096, pool.engine.max_model_len));
    asked.prompt = prompt.value_or(asked.context);
    if (std::max(asked.context, asked.prompt) > pool.engine.max_model_len) {
      warnings += fmt::format("warning: {} tokens are beyond the model's {}\n", std::max(asked.context, asked.prompt), pool.engine.max_model_len);
    }
    explanations.push_back(explain(pool, asked));
  }
  complain(warnings);
  if (json != nullptr) json->write(explain_json(explanations));
  if (!outputs.uses_standard_output()) {
    std::string text;
    for (const Explanation& explanation : explanations) {
      if (!text.empty()) text += '\n';
      text += explain_text(explanation);
    }
    print(text);
  }
  outputs.commit();
}

void explain_runs(const Options& options) {
  for (const PoolOption& row : pool_options) {
    if (options.has(row.option)) throw ConfigError(fmt::format("--{}: with a scenario, use --set {}=...", row.option, row.path));
  }
  const ProgressMode mode = progress_mode(options.get("progress"));
  ExplainOptions asked;
  asked.replications = static_cast<std::size_t>(options.integer("replications", 0, 1000).value_or(3));
  asked.draws = static_cast<std::size_t>(options.integer("uncertainty", 0, 10'000).value_or(20));
  asked.jobs = static_cast<std::size_t>(options.integer("jobs", 1, 1024).value_or(static_cast<std::int64_t>(default_jobs())));
  const std::vector<LabelledScenario> scenarios = resolve_all(expand(load_document(options.operand(), scenario_options(options))));

  Outputs outputs;
  AtomicFile* json_file = outputs.open(options.get("json"));
  AtomicFile* html_file = outputs.open(options.get("html"));
  std::string text;
  nlohmann::ordered_json json;
  std::vector<RunExplanation> explanations;
  for (const LabelledScenario& labelled : scenarios) {
    std::optional<Progress> progress;
    asked.progress = [&](std::size_t done, std::size_t total) {
      if (!progress) progress.emplace(mode, static_cast<std::int64_t>(total), "runs");
      progress->update(static_cast<std::int64_t>(done));
    };
    RunExplanation explanation = explain_run(labelled.scenario, asked);
    progress.reset();
    explanation.label = labelled.label;
    complain(warning_lines(explanation.scenario, explanation.result));
    text += (text.empty() ? "" : "\n") + run_explanation_text(explanation);
    if (scenarios.size() == 1) json = run_explanation_json(explanation);
    else json["alternatives"][labelled.label] = run_explanation_json(explanation);
    if (html_file != nullptr) explanations.push_back(std::move(explanation));
  }
  if (json_file != nullptr) json_file->write(dump(json) + "\n");
  if (html_file != nullptr) html_file->write(html::html_page(html::explanation_page(explanations)));
  if (!outputs.uses_standard_output()) print(text);
  outputs.commit();
}

}  // namespace

int explain_command(const Arguments& arguments) {
  Options options("explain",
                  "With a scenario: where the time of its requests went, what ten per cent more of each resource would change, and how sure that is. "
                  "With --model and --gpu, or with --batch, --context or --prompt: where the time of one prefill and one decode step goes, operator "
                  "by operator, and how the GPU's memory is spent.",
                  "[SCENARIO.yaml]");
  for (const PoolOption& row : pool_options) options.value(row.option, row.placeholder, row.description);
  options.value("batch", "N", "sequences of the decode step, or prompts of an encoder's step (default 1)");
  options.value("context", "N", "tokens each of them sees (default 4096, at most the model's)");
  options.value("prompt", "N", "tokens of the prompt of the prefill step (default: the context)");
  options.value("replications", "N", "whole run: seeds for each resource that is changed (default 3; 0 leaves it out)");
  options.value("uncertainty", "N", "whole run: draws of the operators' prices (default 20; 0 leaves it out)");
  options.value("jobs", "N", "whole run: threads (default: one per processor); the result is the same for any number");
  options.value("progress", "WHEN", "whole run: auto (default), always or never");
  options.value("html", "FILE", "whole run: write a report page with charts, one file that opens offline");
  options.value("json", "FILE", "write the figures as JSON; - for standard output");
  declare_scenario_options(options);
  if (!options.parse(arguments)) return 0;
  if (explains_steps(options)) explain_steps(options);
  else explain_runs(options);
  return 0;
}

}  // namespace ridgeline::cli
