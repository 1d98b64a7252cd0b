#include "scenarios/validate/serving_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "scenarios/load/load_scenario.hpp"
#include "scenarios/validate/serving_names.hpp"

namespace ridgeline {

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Serving commands in the notes: the value after `--flag`, "--flag=value" included; empty when absent.
std::string flag_value(const std::string& notes, const std::string& flag) {
  std::istringstream words(notes);
  std::string word;
  while (words >> word) {
    if (word == flag && words >> word) return word;
    if (word.starts_with(flag + "=")) return word.substr(flag.size() + 1);
  }
  return {};
}

// What this version can't simulate, by the row's own words. Empty: nothing.
std::string refusal(const ServingRow& row) {
  if (row.quality == "C") return "quality C: a setting or the unit is ambiguous, the run was overloaded or power-limited";
  if (row.figures.empty()) return "no figure that a run answers (prefill speed of a layer split, fits over many runs, …)";
  if (row.pp > 1) return "pipeline parallelism";
  if (!row.ep_dp.empty() && !contains(row.ep_dp, "replicas")) return "expert or data parallelism: " + row.ep_dp;
  if (!row.parallelism_stated) return "the split over GPUs is not stated";
  for (const std::string_view word : {"--enable-dp-attention", "-dp ", "--dp-size", "--ep-size", "--enable-expert-parallel", "--pp-size",
                                      "--data-parallel-size"}) {
    if (contains(row.notes, word)) return "expert or data parallelism";
  }
  for (const std::string_view word : {"speculative", "MTP", "mtp", "EAGLE", "eagle"}) {
    if (contains(row.notes, word)) return "speculative decoding";
  }
  if (contains(row.notes, "CPU KV offloading")) return "KV offloading to the host";
  if (contains(row.notes, "hicache") || contains(row.notes, "lmcache") || contains(row.notes, "LMCache")) return "KV offloading to the host";
  if (contains(row.notes, "num_scheduler_steps 15")) return "multi-step scheduling";
  if (contains(row.notes, "decode_only") || row.input <= 0.0 || row.output <= 0.0) return "lengths are not stated";
  if (row.load == RowLoad::open_loop && !row.request_rate) return "the request rate is not stated";
  if (row.load == RowLoad::closed_loop && !row.concurrency) return "the concurrency is not stated";
  if (row.num_gpus % (std::int64_t{row.tp} * row.pp) != 0) return "GPUs are no multiple of a replica's";
  return {};
}

// Weight format as our `quantization`, KV as `kv_cache_dtype`; nullopt when there is none like it.
std::optional<std::string> quantization(const ServingRow& row, const std::string& model) {
  const std::string& dtype = row.weight_dtype;
  if (dtype.starts_with("fp8") && !contains(model, "gpt-oss")) return "fp8";
  if (dtype.starts_with("fp4") || dtype.starts_with("nvfp4")) return "nvfp4";
  if (dtype.starts_with("int8")) return "int8";
  if (dtype.starts_with("int4-awq")) return "awq";
  if (dtype.starts_with("int4")) return "gptq";
  if (dtype.empty() || dtype == "?" || dtype.starts_with("bf16") || dtype.starts_with("fp16") || dtype.starts_with("mxfp4") || dtype == "f16") return "auto";
  return std::nullopt;
}

std::string kv_dtype(const ServingRow& row) {
  if (row.kv_dtype.starts_with("fp8")) return "fp8";
  if (row.kv_dtype == "int8") return "int8";
  return "auto";
}

// Median over mean of the samples' lengths (lengths/*.csv); log-normal around the row's own means.
struct Spread {
  std::string_view word;
  double input;
  double output;
};
constexpr Spread spreads[] = {{"ShareGPT", 0.59, 0.66}, {"OpenOrca", 0.68, 0.87}, {"13,368", 0.90, 0.91}, {"15,000", 0.66, 0.78}};

std::string lognormal(double mean, double median_over_mean) {
  return fmt::format("{{distribution: lognormal, mean: {:.6g}, median: {:.6g}, min: 1, max: {:.0f}}}", mean, std::max(1.0, mean * median_over_mean),
                     std::ceil(mean * 6.0));
}

std::string uniform(double least, double most) {
  return fmt::format("{{distribution: uniform, min: {:.0f}, max: {:.0f}}}", std::max(1.0, std::round(least)), std::max(1.0, std::round(most)));
}

// Tokens of the longest request the row can send.
struct Lengths {
  std::string input, output;
  double longest = 0.0;
};

Lengths lengths_of(const ServingRow& row) {
  for (const Spread& spread : spreads) {
    if (!contains(row.length_dist, spread.word)) continue;
    return {lognormal(row.input, spread.input), lognormal(row.output, spread.output), std::ceil(6.0 * row.input) + std::ceil(6.0 * row.output)};
  }
  const bool nominal = contains(row.length_dist, "[0.8,1.0]");
  if (nominal) return {uniform(0.8 * row.input, row.input), uniform(0.8 * row.output, row.output), row.input + row.output};
  if (contains(row.length_dist, "+-15 %")) {
    return {uniform(0.85 * row.input, 1.15 * row.input), uniform(0.85 * row.output, 1.15 * row.output), 1.15 * (row.input + row.output)};
  }
  const double input = std::max(1.0, std::round(row.input)), output = std::max(1.0, std::round(row.output));
  return {fmt::format("{:.0f}", input), fmt::format("{:.0f}", output), input + output};
}

// Prompts of inference-perf's shared_prefix load: a pool of about 100, replayed, so that all but the last block is found in the cache.
bool replays_prompts(const ServingRow& row) { return contains(row.source, "inference-sim") && !contains(row.source, "residency"); }

// Between an HTTP client and the scheduler, per engine generation: TTFT at concurrency 1 to 4 less the simulated prefill. vLLM 0.10 to 0.13:
// 60 ms against 9 (GPUStack, Qwen3-8B), checked on InferenceX' points (70 to 121 ms against 33 to 63); vLLM from 0.14: the residency logs'
// floor; SGLang 27 against 8, TensorRT-LLM 45 against 8 (GPUStack). In-process load generators (MLPerf, static batches) have none.
Duration client_overhead(const ServingRow& row, const ServingEngine& engine) {
  const bool served = row.load == RowLoad::closed_loop || row.load == RowLoad::open_loop || contains(row.source, "GPUStack");
  if (!served || contains(row.source, "MLPerf")) return {};
  if (engine.profile == "vllm-main-2026") return Duration::milliseconds(6);
  if (engine.profile == "sglang") return Duration::milliseconds(20);
  return Duration::milliseconds(engine.profile == "tensorrt-llm" ? 30 : 45);
}

std::string workload_yaml(const ServingRow& row, const Lengths& lengths) {
  std::string text = "workload:\n";
  if (replays_prompts(row)) {
    constexpr int pool = 100;
    text += fmt::format("  shared_prefix: {{tokens: {:.0f}, count: {}}}\n  input_tokens: 1\n", std::max(1.0, row.input - 1.0), pool);
  } else {
    text += "  input_tokens: " + lengths.input + "\n";
  }
  text += "  output_tokens: " + lengths.output + "\n";
  switch (row.load) {
    case RowLoad::static_batch:
      return text + fmt::format("  arrival: all_at_once\n  num_prompts: {}\n", row.concurrency.value_or(row.requests.value_or(1)));
    case RowLoad::offline: return text + fmt::format("  arrival: all_at_once\n  num_prompts: {}\n", row.requests.value_or(row.concurrency.value_or(1000)));
    case RowLoad::closed_loop: {
      constexpr std::int64_t rounds = 10;  // InferenceMAX: ten requests a client
      return text + fmt::format("  max_concurrency: {}\n  num_prompts: {}\n", *row.concurrency, row.requests.value_or(rounds * *row.concurrency));
    }
    case RowLoad::open_loop: break;
  }
  // Servers reach their steady state within some hundred requests; 10,000 bound a percentile well.
  constexpr std::int64_t enough = 10'000;
  const std::int64_t stated = row.requests.value_or(std::max<std::int64_t>(1000, std::llround(600.0 * *row.request_rate)));
  return text + fmt::format("  arrival: {{process: {}, request_rate: {}}}\n  num_prompts: {}\n", row.arrival == "constant" ? "constant" : "poisson",
                            *row.request_rate, std::min(stated, enough));
}

std::string vllm_yaml(const ServingRow& row, const ServingEngine& engine) {
  std::string text;
  const std::string utilization = flag_value(row.notes, "--gpu-memory-utilization");
  if (!utilization.empty()) text += "  gpu_memory_utilization: " + utilization + "\n";
  else if (contains(row.notes, "gpu_memory_utilization 0.95")) text += "  gpu_memory_utilization: 0.95\n";
  else if (engine.version < 0.20) text += "  gpu_memory_utilization: 0.9\n";
  if (engine.profile == "vllm-v0") return text;
  if (row.prefix_caching == "false" || contains(row.notes, "no prefix cache")) text += "  enable_prefix_caching: false\n";
  if (contains(row.notes, "async scheduling") || contains(row.notes, "--async-scheduling")) text += "  async_scheduling: true\n";
  return text;
}

std::string trtllm_yaml(const ServingRow& row) {
  std::string text;
  if (contains(row.notes, "max_utilization") || contains(row.notes, "max_util")) text += "  capacity_policy: max_utilization\n";
  // A prompt above the token budget (8,192 by default) can only have been cut.
  const bool cut = row.input > static_cast<double>(row.max_num_batched_tokens.value_or(8192));
  if (cut || contains(row.notes, "chunked context") || contains(row.notes, "chunked_prefill")) text += "  enable_chunked_prefill: true\n";
  if (row.kv_fraction) text += fmt::format("  free_gpu_memory_fraction: {}\n", *row.kv_fraction);
  return text;
}

std::string sglang_yaml(const ServingRow& row) {
  std::string text;
  if (const std::string chunk = flag_value(row.notes, "--chunked-prefill-size"); !chunk.empty()) text += "  chunked_prefill_size: " + chunk + "\n";
  else if (row.max_num_batched_tokens) text += fmt::format("  chunked_prefill_size: {}\n", *row.max_num_batched_tokens);
  if (const std::string fraction = flag_value(row.notes, "--mem-fraction-static"); !fraction.empty()) text += "  mem_fraction_static: " + fraction + "\n";
  if (contains(row.notes, "--enable-mixed-chunk")) text += "  enable_mixed_chunk: true\n";
  if (row.prefix_caching == "false" || contains(row.notes, "--disable-radix-cache")) text += "  enable_prefix_caching: false\n";
  return text;
}

std::string engine_yaml(const ServingRow& row, const ServingEngine& engine, const std::string& quantized, std::optional<std::int64_t> model_len) {
  std::string text = fmt::format("engine:\n  profile: {}\n  tensor_parallel_size: {}\n", engine.profile, row.tp);
  if (quantized != "auto") text += "  quantization: " + quantized + "\n";
  if (const std::string kv = kv_dtype(row); kv != "auto") text += "  kv_cache_dtype: " + kv + "\n";
  const bool is_static = engine.profile == "static";
  // gpt-fast replays one compiled graph a token.
  if (row.engine.starts_with("gpt-fast")) text += "  host_overhead: {per_step: 300 us, per_sequence: 0 us, overlapped: false}\n";
  if (is_static) text += fmt::format("  max_num_seqs: {}\n", row.concurrency.value_or(1));
  else if (row.max_num_seqs) text += fmt::format("  max_num_seqs: {}\n", *row.max_num_seqs);
  if (model_len) text += fmt::format("  max_model_len: {}\n", *model_len);
  const bool sglang = engine.profile == "sglang";
  if (row.max_num_batched_tokens && !sglang && !is_static) text += fmt::format("  max_num_batched_tokens: {}\n", *row.max_num_batched_tokens);
  if (row.kv_capacity_tokens) {
    const std::int64_t block = sglang ? 1 : engine.profile.starts_with("vllm") ? 16 : 32;
    text += fmt::format("  num_gpu_blocks_override: {}\n", *row.kv_capacity_tokens / block + 1);
  }
  if (engine.profile.starts_with("vllm")) text += vllm_yaml(row, engine);
  if (engine.profile == "tensorrt-llm" && !row.kv_capacity_tokens) text += trtllm_yaml(row);
  if (sglang) text += sglang_yaml(row);
  if (contains(row.notes, "--enforce-eager")) text += "  enforce_eager: true\n";
  return text;
}

}  // namespace

StatedScenario stated_scenario(const ServingRow& row, const std::vector<std::string>& overrides) {
  StatedScenario stated;
  const auto refused = [&](std::string reason) {
    stated.reason = std::move(reason);
    return stated;
  };
  if (std::string reason = refusal(row); !reason.empty()) return refused(std::move(reason));
  stated.gpu = serving_gpu(row.gpu);
  if (stated.gpu.empty()) return refused("GPU `" + row.gpu + "` is not in the catalog");
  stated.model = serving_model(row.model);
  if (stated.model.empty()) return refused("model `" + row.model + "` is not in the catalog");
  const ServingEngine engine = serving_engine(row.engine, row.engine_version, row.date, row.load == RowLoad::static_batch);
  if (engine.profile.empty()) return refused(engine.reason);
  stated.engine = engine.profile;
  stated.client_overhead = client_overhead(row, engine);
  const std::optional<std::string> quantized = quantization(row, stated.model);
  if (!quantized) return refused("weight format `" + row.weight_dtype + "`");

  const Lengths lengths = lengths_of(row);
  const std::string fleet = fmt::format("fleet: [{{gpu: {}, replicas: {}}}]\n", stated.gpu, row.num_gpus / row.tp);
  const auto text_with = [&](std::optional<std::int64_t> model_len) {
    return "model: " + stated.model + "\n" + engine_yaml(row, engine, *quantized, model_len) + fleet + workload_yaml(row, lengths);
  };
  std::optional<std::int64_t> model_len;
  if (const std::string flag = flag_value(row.notes, "--max-model-len"); !flag.empty()) model_len = std::atoll(flag.c_str());
  if (engine.profile == "static") model_len = std::llround(lengths.longest);
  std::string mistake;
  const std::optional<std::int64_t> shortest = static_cast<std::int64_t>(lengths.longest) + 1;
  for (const std::optional<std::int64_t>& tried : {model_len, shortest}) {
    stated.yaml = text_with(tried);
    try {
      Config document = Config::parse(stated.yaml, row.id);
      for (const std::string& assignment : overrides) document = with_override(document, assignment);
      stated.scenario = resolve_scenario(document);
      stated.kind = stated.scenario->fleet.front().model->moe ? "moe" : "dense";
      return stated;
    } catch (const ConfigError& error) {
      mistake = error.diagnostics().empty() ? error.what() : error.diagnostics().front().message;
    }
  }
  if (contains(mistake, "does not fit")) mistake = "the model does not fit by our memory budget";
  return refused("refused: " + mistake);
}

}  // namespace ridgeline
