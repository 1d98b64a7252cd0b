#include "scenarios/load/resolve_engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/precision.hpp"
#include "scenarios/load/engine_memory.hpp"
#include "scenarios/load/reading.hpp"

namespace ridgeline {

namespace {

// Keys of vLLM that a reader may well try: refused by name, with the value that means "not used".
struct Unsimulated {
  std::string_view key;
  std::string_view neutral;
  std::string_view why;
};
constexpr Unsimulated unsimulated[] = {
    {"pipeline_parallel_size", "1", "pipeline parallelism is not simulated in this version"},
    {"data_parallel_size", "1", "data parallelism inside an engine is not simulated in this version; use `replicas`"},
    {"decode_context_parallel_size", "1", "decode context parallelism is not simulated in this version"},
    {"prefill_context_parallel_size", "1", "prefill context parallelism is not simulated in this version"},
    {"enable_expert_parallel", "false", "expert parallelism is not simulated in this version"},
    {"cpu_offload_gb", "0", "offloading weights to the host is not simulated in this version"},
    {"enable_lora", "false", "LoRA adapters are not simulated in this version"},
    {"max_num_partial_prefills", "1", "vLLM V1 never supported it"},
};

void refuse_unsimulated(MapReader& reader) {
  for (const Unsimulated& row : unsimulated) {
    const std::optional<Config> node = reader.child(row.key);
    if (!node || node->is_null()) continue;
    if (node->is_scalar() && node->scalar() == row.neutral) continue;
    reader.mistake(row.key, fmt::format("{}; expected {}", row.why, row.neutral));
  }
  if (reader.child("num_speculative_tokens")) {
    reader.mistake("num_speculative_tokens", "belongs into `speculative_config: {method: …, num_speculative_tokens: …}`");
  }
}

// Options some other profile has and this one has not.
void refuse_foreign_options(MapReader& reader, const EngineProfile& profile) {
  std::vector<std::string> foreign;
  for (const EngineProfile& row : engine_profiles()) {
    for (const std::string& option : row.options) {
      const bool ours = std::find(profile.options.begin(), profile.options.end(), option) != profile.options.end();
      if (!ours && std::find(foreign.begin(), foreign.end(), option) == foreign.end()) foreign.push_back(option);
    }
  }
  for (const std::string& option : foreign) {
    if (!reader.child(option)) continue;
    std::string owners;
    for (const EngineProfile& row : engine_profiles()) {
      if (std::find(row.options.begin(), row.options.end(), option) == row.options.end()) continue;
      owners += (owners.empty() ? "`" : ", `") + row.name + "`";
    }
    reader.mistake(option, fmt::format("engine `{}` has no such option; {} have it", profile.name, owners));
  }
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EngineProfile& row : engine_profiles()) names.push_back(row.name);
  return names;
}

// An engine that can schedule ahead hides its CPU time exactly when it does.
HostOverhead read_host_overhead(MapReader& reader, const EngineProfile& profile, const EngineConfig& config) {
  HostOverhead host = profile.host;
  const auto& options = profile.options;
  if (std::find(options.begin(), options.end(), "async_scheduling") != options.end()) host.overlapped = config.async_scheduling;
  const std::optional<Config> node = reader.child("host_overhead");
  if (!node || node->is_null()) return host;
  MapReader map(*node, reader.errors());
  host.per_step = map.get<Duration>("per_step", host.per_step, non_negative);
  host.per_sequence = map.get<Duration>("per_sequence", host.per_sequence, non_negative);
  host.overlapped = map.get<bool>("overlapped", host.overlapped);
  map.done();
  return host;
}

std::vector<std::int64_t> read_kv_groups(MapReader& reader) {
  std::vector<std::int64_t> groups;
  const std::optional<Config> node = reader.child("kv_groups");
  if (!node || node->is_null()) return groups;
  if (!node->is_sequence()) {
    reader.mistake("kv_groups", "expected a list with null (full attention) or a window in tokens per group");
    return groups;
  }
  for (std::size_t i = 0; i < node->size(); ++i) {
    const Config item = node->at(i);
    groups.push_back(item.is_null() ? 0 : read_value<std::int64_t>(item, reader.errors(), non_negative).value_or(0));
  }
  return groups;
}

KvEviction read_kv_eviction(MapReader& reader) {
  KvEviction eviction;
  const std::optional<Config> node = reader.child("kv_eviction");
  if (!node || node->is_null()) return eviction;
  MapReader map(*node, reader.errors());
  const std::string policy = map.choice("policy", "", {"streaming-llm", "h2o"});
  if (policy == "streaming-llm") {
    eviction.policy = KvEviction::Policy::streaming_llm;
    eviction.sinks = map.get<Tokens>("sinks", Tokens{4}, non_negative).count();
    eviction.window = map.require<Tokens>("window", at_least_one).count();
  } else if (policy == "h2o") {
    eviction.policy = KvEviction::Policy::h2o;
    eviction.budget = map.require<Tokens>("budget", at_least_one).count();
  } else if (!map.has("policy")) {
    map.mistake("policy", "is missing; expected streaming-llm or h2o");
  }
  map.done();
  if (reader.child("speculative_config")) reader.mistake("kv_eviction", "is not simulated together with `speculative_config`");
  if (reader.child("kv_groups")) reader.mistake("kv_eviction", "is not simulated together with `kv_groups`");
  const std::optional<Config> caching = reader.child("enable_prefix_caching");
  if (caching && caching->is_scalar() && caching->scalar() == "true") {
    reader.mistake("enable_prefix_caching", "a sequence that drops tokens leaves no prefix to share; with `kv_eviction` it is off");
  }
  return eviction;
}

// Host memory for KV of V0 (swap) and V1 (offload tier).
void read_host_memory(MapReader& reader, const EngineProfile& profile, EngineKeys& keys) {
  const auto has = [&](std::string_view option) {
    return std::find(profile.options.begin(), profile.options.end(), option) != profile.options.end();
  };
  if (has("preemption_mode")) {
    keys.config.preemption_mode = reader.choice("preemption_mode", "recompute", {"recompute", "swap"});
    keys.swap_space = reader.maybe<Bytes>("swap_space", positive);
    const bool swaps = keys.config.preemption_mode == "swap";
    if (keys.swap_space && !swaps) reader.mistake("swap_space", "has no effect without `preemption_mode: swap`");
    if (swaps && !keys.swap_space) keys.swap_space = 4_GiB;  // vLLM's default, a GPU
  }
  if (has("kv_offloading_size")) keys.kv_offloading_size = reader.maybe<Bytes>("kv_offloading_size", positive);
  if (keys.kv_offloading_size && !keys.config.enable_prefix_caching) {
    reader.mistake("kv_offloading_size", "has no effect without `enable_prefix_caching`");
  }
}

// Flags whose default is a plain value, the profile's or the engine's own.
void read_flags(MapReader& reader, const EngineProfile& profile, EngineConfig& config) {
  const auto has = [&](std::string_view option) {
    return std::find(profile.options.begin(), profile.options.end(), option) != profile.options.end();
  };
  const auto flag = [&](std::string_view key, bool fallback) { return has(key) ? reader.get<bool>(key, fallback) : fallback; };
  config.enable_prefix_caching = flag("enable_prefix_caching", profile.enable_prefix_caching);
  config.enable_chunked_prefill = flag("enable_chunked_prefill", profile.enable_chunked_prefill);
  config.async_scheduling = flag("async_scheduling", profile.async_scheduling);
  config.scheduler_reserve_full_isl = flag("scheduler_reserve_full_isl", profile.reserve_full_isl);
  config.enable_mixed_chunk = flag("enable_mixed_chunk", false);
  config.watermark = has("watermark") ? reader.get<double>("watermark", profile.watermark, {0.0, 0.99}) : profile.watermark;
  config.prepend_unhashed_free_blocks = profile.prepend_unhashed_free_blocks;
  config.chunked_off_skips = profile.chunked_off_skips;
  config.lookahead_at_admission = profile.lookahead_at_admission;
  config.pads_new_decodes = profile.pads_new_decodes;
  if (has("long_prefill_token_threshold")) {
    config.long_prefill_token_threshold = reader.get<Tokens>("long_prefill_token_threshold", Tokens{0}, non_negative).count();
  }
  if (has("scheduling_policy")) config.scheduling_policy = reader.choice("scheduling_policy", "fcfs", {"fcfs", "priority"});
  if (has("kv_eviction")) config.kv_eviction = read_kv_eviction(reader);
  if (config.kv_eviction.on()) config.enable_prefix_caching = false;
  if (has("kv_reservation")) {
    const bool pages = profile.scheduler == "orca";  // a batch that ends together has nowhere to put a victim
    config.kv_reservation = reader.choice("kv_reservation", "max", pages ? std::vector<std::string>{"paged", "max", "pow2", "oracle"}
                                                                         : std::vector<std::string>{"max", "pow2", "oracle"});
  }
  if (has("kv_groups")) config.kv_groups = read_kv_groups(reader);
  if (has("max_prefill_tokens")) {
    config.max_prefill_tokens = reader.get<Tokens>("max_prefill_tokens", Tokens{16384}, at_least_one).count();
  }
  if (has("schedule_policy")) {
    config.schedule_policy = reader.choice("schedule_policy", "fcfs", {"fcfs", "lpm", "dfs-weight", "lof", "random"});
  }
  if (has("schedule_conservativeness")) {
    config.schedule_conservativeness = reader.get<double>("schedule_conservativeness", 1.0, positive);
  }
  if (has("capacity_policy")) {
    config.capacity_policy = reader.choice("capacity_policy", "guaranteed_no_evict",
                                           {"guaranteed_no_evict", "max_utilization", "static_batch"});
  }
  if (has("max_queue_delay")) config.max_queue_delay = reader.get<Duration>("max_queue_delay", Duration{}, non_negative);
  if (has("chunk_unit")) config.chunk_unit = reader.get<Tokens>("chunk_unit", Tokens{64}, at_least_one).count();
  if (has("chunk_policy")) config.chunk_policy = reader.choice("chunk_policy", "fcfs", {"fcfs", "equal_progress"});
}

void read_speculation_into(MapReader& reader, EngineKeys& keys) {
  keys.speculation = read_speculation(reader.child("speculative_config"), reader.errors());
  if (!keys.speculation || keys.speculation->config.num_speculative_tokens == 0) return;
  keys.config.speculation = keys.speculation->config;
  if (!forbids_async_scheduling(*keys.config.speculation)) return;
  if (reader.has("async_scheduling") && keys.config.async_scheduling) {
    reader.mistake("async_scheduling", fmt::format("drafts of `{}`{} need the host between steps; expected false",
                                                   keys.config.speculation->method, keys.config.speculation->tree_depth > 0 ? " trees" : ""));
  }
  keys.config.async_scheduling = false;
}

void read_memory_fraction(MapReader& reader, const EngineProfile& profile, EngineKeys& keys) {
  const std::string_view own = memory_fraction_key(profile);
  keys.gpu_memory_utilization = reader.maybe<double>(own, positive_fraction);
  for (const std::string_view name : {"gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction"}) {
    if (name != own && reader.child(name)) reader.mistake(name, fmt::format("engine `{}` has `{}` instead", profile.name, own));
  }
}

template <class T>
std::optional<std::int64_t> count_of(const std::optional<T>& value) {
  return value ? std::optional(value->count()) : std::nullopt;
}

}  // namespace

EngineKeys read_engine(const Config& node, Diagnostics& errors) {
  MapReader reader(node, errors);
  EngineKeys keys;
  const std::string name = reader.get<std::string>("profile", "vllm-main-2026");
  keys.profile = find_engine_profile(name);
  if (keys.profile == nullptr) {
    reader.mistake("profile", "unknown engine `" + name + "`" + suggestion(name, profile_names()));
    return keys;  // which keys are right depends on it
  }
  const EngineProfile& profile = *keys.profile;
  keys.config.profile = profile.name;
  keys.config.scheduler = profile.scheduler;

  keys.tensor_parallel_size = reader.get<int>("tensor_parallel_size", 1, {1, 1024});
  keys.dtype = reader.get<std::string>("dtype", "auto");
  keys.quantization = reader.get<std::string>("quantization", "auto");
  keys.kv_cache_dtype = reader.get<std::string>("kv_cache_dtype", "auto");
  keys.enforce_eager = reader.get<bool>("enforce_eager", false);
  keys.max_model_len = count_of(reader.maybe<Tokens>("max_model_len", at_least_one));
  keys.max_num_seqs = reader.maybe<std::int64_t>("max_num_seqs", {1, 1 << 20});
  keys.block_size = count_of(reader.maybe<Tokens>("block_size", {1, 1 << 20}));
  read_memory_fraction(reader, profile, keys);
  keys.num_gpu_blocks_override = reader.maybe<std::int64_t>("num_gpu_blocks_override", {1, 1e12});
  keys.kv_cache_memory_bytes = maybe_bytes(reader, "kv_cache_memory_bytes");
  if (keys.num_gpu_blocks_override && keys.kv_cache_memory_bytes) {
    reader.mistake("kv_cache_memory_bytes", "excludes `num_gpu_blocks_override`: both state the size of the KV cache");
  }
  if (keys.gpu_memory_utilization && keys.kv_cache_memory_bytes) {
    reader.mistake(memory_fraction_key(profile), "has no effect beside `kv_cache_memory_bytes`; leave one of them out");
  }
  const auto& options = profile.options;
  const auto has = [&](std::string_view option) { return std::find(options.begin(), options.end(), option) != options.end(); };
  if (has("max_num_batched_tokens")) {
    keys.max_num_batched_tokens = count_of(reader.maybe<Tokens>("max_num_batched_tokens", {1, 1e9}));
  }
  if (has("chunked_prefill_size")) keys.chunked_prefill_size = reader.maybe<std::int64_t>("chunked_prefill_size", {-1, 1e9});
  read_flags(reader, profile, keys.config);
  if (has("speculative_config")) read_speculation_into(reader, keys);
  read_host_memory(reader, profile, keys);
  keys.host = read_host_overhead(reader, profile, keys.config);
  refuse_unsimulated(reader);
  refuse_foreign_options(reader, profile);
  reader.done();
  return keys;
}

namespace {

// vLLM compares against 70 and 160 GiB of device memory and looks for "a100" in the device's name.
bool is_a100(const GpuSpec& gpu) { return gpu.name.find("a100") != std::string::npos; }

// SGLang `server_args.py`: by GPU memory in MiB.
std::int64_t sglang_chunk(const GpuSpec& gpu) {
  const std::int64_t mib = gpu.memory_visible / 1_MiB;
  return mib < 35'000 ? 2048 : mib < 60'000 ? 4096 : mib < 160'000 ? 8192 : 16384;
}

struct Budget {
  std::int64_t tokens;
  std::int64_t sequences;
};

Budget default_budget(const EngineProfile& profile, std::int64_t max_model_len, const GpuSpec* gpu) {
  switch (profile.budget) {
    case BudgetRule::vllm_v1:
    case BudgetRule::vllm_v1_big_tier: {
      const bool big = gpu != nullptr && gpu->memory_visible >= 70_GiB && !is_a100(*gpu);
      const bool biggest = profile.budget == BudgetRule::vllm_v1_big_tier && gpu != nullptr && gpu->memory_visible >= 160_GiB;
      return biggest ? Budget{16384, 1024} : big ? Budget{8192, 1024} : Budget{2048, 256};
    }
    case BudgetRule::vllm_v0: return {max_model_len > 32768 ? 512 : std::max<std::int64_t>(max_model_len, 2048), 256};
    case BudgetRule::sglang: return {0, 2048};
    case BudgetRule::fixed: return {profile.max_num_batched_tokens, profile.max_num_seqs};
  }
  throw InternalError("an unknown budget rule");
}

}  // namespace

EngineConfig resolve_engine(const EngineKeys& keys, std::int64_t max_model_len, const GpuSpec* gpu) {
  EngineConfig config = keys.config;
  const Budget budget = default_budget(*keys.profile, max_model_len, gpu);
  config.max_model_len = max_model_len;
  config.block_size = keys.block_size.value_or(keys.profile->block_size);
  config.max_num_seqs = keys.max_num_seqs.value_or(budget.sequences);
  std::int64_t tokens = budget.tokens == 0 ? config.max_num_seqs * max_model_len : budget.tokens;
  tokens = std::min(tokens, config.max_num_seqs * max_model_len);
  // vLLM raises its budget to the longest prompt when it may not cut one; TensorRT-LLM refuses such prompts.
  if (!config.enable_chunked_prefill && config.scheduler != "tensorrt_llm") tokens = std::max(tokens, max_model_len);
  config.max_num_batched_tokens = keys.max_num_batched_tokens.value_or(tokens);
  config.chunked_prefill_size = keys.chunked_prefill_size.value_or(gpu != nullptr ? sglang_chunk(*gpu) : 8192);
  return config;
}

std::vector<std::int64_t> cudagraph_capture_sizes(const EngineKeys& keys, const EngineConfig& engine, const GpuSpec& gpu,
                                                  bool rounds_to_drafts) {
  std::vector<std::int64_t> sizes;
  if (keys.enforce_eager) return sizes;
  const bool main_2026 = keys.profile->name == "vllm-main-2026";
  const std::int64_t drafts = engine.speculation ? engine.speculation->num_speculative_tokens : 0;
  const std::int64_t most_of_gpu = main_2026 && gpu.architecture == "blackwell" ? 1024 : 512;
  const std::int64_t most = std::min({2 * engine.max_num_seqs * (1 + drafts), engine.max_num_batched_tokens, most_of_gpu});
  // Steps of 16 from 256 on came after 0.11 (vLLM `config/vllm.py`).
  for (std::int64_t size = 1; size <= most;) {
    sizes.push_back(size);
    size += size < 2 ? 1 : size < 4 ? 2 : size < 8 ? 4 : size < 256 || !main_2026 ? 8 : 16;
  }
  if (main_2026 && engine.max_num_batched_tokens <= most && sizes.back() != engine.max_num_batched_tokens) {
    sizes.push_back(engine.max_num_batched_tokens);
  }
  if (rounds_to_drafts && drafts > 0) {
    // vLLM `adjust_cudagraph_sizes_for_spec_decode`: a uniform decode has 1 + k rows a sequence.
    for (std::int64_t& size : sizes) size = ceil_divide(size, 1 + drafts) * (1 + drafts);
    std::erase_if(sizes, [&](std::int64_t size) { return size > most; });
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
  return sizes;
}

}  // namespace ridgeline
