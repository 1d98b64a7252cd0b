#include "scenarios/load/resolve_pool.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hardware/calibration.hpp"
#include "hardware/host_link.hpp"
#include "models/precision.hpp"
#include "models/transformer.hpp"
#include "scenarios/load/engine_memory.hpp"
#include "scenarios/load/reading.hpp"
#include "sim/scheduling/builtin.hpp"

namespace ridgeline {

namespace {

constexpr double gib = 0x1p-30;

// One pool being resolved: what all steps below read and write.
struct Resolving {
  const Config& node;
  const CostConfig& cost;
  Diagnostics& errors;
  std::vector<Diagnostic>& warnings;
  FitRule fit;
  Config engine_node;
  ResolvedPool out;

  /// Runs `action`; its mistakes are warnings where a model is only to be explained.
  template <class Action>
  void adopt(const Config& at, Action&& action) {
    Diagnostics found;
    adopt_mistakes(found, at, std::forward<Action>(action));
    for (const Diagnostic& diagnostic : found.list()) {
      if (fit == FitRule::refuse) errors.add(diagnostic);
      else warnings.push_back(diagnostic);
    }
  }
  void warn(const Config& at, std::string message) { warnings.push_back({at.where(), at.path(), std::move(message)}); }
  [[nodiscard]] Config key(std::string_view name) const { return node.find(name).value_or(node); }
  [[nodiscard]] Config engine_key(std::string_view name) const { return engine_node.find(name).value_or(engine_node); }
};

void read_gpu_and_node(Resolving& r, MapReader& reader, bool required) {
  const auto gpu = required ? reader.require_child("gpu") : reader.child("gpu");
  if (gpu) {
    if (const auto name = read_value<std::string>(*gpu, r.errors)) {
      r.out.gpu_name = looks_like_path(*name, {".yaml", ".yml"}) ? find_file(*name, gpu->where()) : *name;
      adopt_mistakes(r.errors, *gpu, [&] { r.out.pool.gpu = load_gpu(r.out.gpu_name); });
    }
  }
  const auto node = reader.child("node");
  if (node) {
    if (const auto name = read_value<std::string>(*node, r.errors)) {
      r.out.node_name = looks_like_path(*name, {".yaml", ".yml"}) ? find_file(*name, node->where()) : *name;
      adopt_mistakes(r.errors, *node, [&] { r.out.pool.node = load_node(r.out.node_name); });
    }
  } else if (r.out.pool.gpu) {
    adopt_mistakes(r.errors, *gpu, [&] { r.out.pool.node = default_node(*r.out.pool.gpu); });
    if (r.out.pool.node) r.out.node_name = r.out.pool.node->name;
  }
  if (!r.out.pool.gpu || !r.out.pool.node || !node) return;
  const std::vector<std::string>& built_with = r.out.pool.node->gpus;
  if (!built_with.empty() && std::find(built_with.begin(), built_with.end(), r.out.pool.gpu->name) == built_with.end()) {
    r.errors.add(node->mistake(fmt::format("node type `{}` is not built with `{}`{}", r.out.pool.node->name, r.out.pool.gpu->name,
                                           suggestion("", built_with))));
  }
}

void read_calibration(Resolving& r, MapReader& reader) {
  const auto name = reader.maybe<std::string>("calibration");
  if (!name || *name == "auto") return;
  const Config node = r.key("calibration");
  r.out.pool.calibration = find_file(*name, node.where());
  if (r.out.pool.gpu) adopt_mistakes(r.errors, node, [&] { (void)load_calibration(*r.out.pool.gpu, r.out.pool.calibration); });
}

void read_model(Resolving& r, MapReader& reader, bool required) {
  const auto node = required ? reader.require_child("model") : reader.child("model");
  if (!node) return;
  const auto name = read_value<std::string>(*node, r.errors);
  if (!name) return;
  r.out.model_name = looks_like_path(*name, {".json"}) ? find_file(*name, node->where()) : *name;
  adopt_mistakes(r.errors, *node, [&] { r.out.pool.model = load_model(r.out.model_name); });
  if (r.out.pool.model && r.out.pool.model->encoder && r.fit == FitRule::refuse) {
    r.errors.add(node->mistake(fmt::format("`{}` is an encoder: it generates nothing, so there is nothing to serve; "
                                           "`ridgeline explain` prices it", *name)));
    r.out.pool.model.reset();
  }
}

// Formats the GPU's tensor cores lack are unpacked to 16 bits in the kernel (vLLM's Marlin kernels): the bytes shrink, the math does not.
void fit_formats_to_gpu(Resolving& r, ModelSpec& model) {
  const GpuSpec& gpu = *r.out.pool.gpu;
  for (std::size_t i = 0; i < model.formats.size(); ++i) {
    WeightFormat& format = model.formats[i];
    if (gpu.supports(format.math)) continue;
    if (bits(format.math) >= 16) {
      r.errors.add(r.engine_key("dtype").mistake(fmt::format("{} has no {} tensor cores; set `dtype: float16`", gpu.name,
                                                             to_string(format.math))));
      return;
    }
    r.warn(r.engine_key("quantization"), fmt::format("{} has no {} tensor cores: weights stay {}, the math runs in {}", gpu.name,
                                                     to_string(format.math), format.name, to_string(model.release_dtype)));
    format.math = model.release_dtype;
    format.quantises_input = false;
  }
}

void apply_precision(Resolving& r) {
  Pool& pool = r.out.pool;
  const EngineKeys& keys = r.out.keys;
  adopt_mistakes(r.errors, r.engine_key("quantization"),
                 [&] { pool.model = with_precision(*pool.model, keys.quantization, keys.dtype); });
  adopt_mistakes(r.errors, r.engine_key("kv_cache_dtype"), [&] { pool.kv = kv_format(keys.kv_cache_dtype, *pool.model); });
  // Static scales: TensorRT-LLM's norm or activation before a product writes its narrow input itself.
  if (memory_fraction_key(*keys.profile) == "free_gpu_memory_fraction") {
    for (WeightFormat& format : pool.model->formats) format.quantises_input = false;
  }
  if (pool.gpu) fit_formats_to_gpu(r, *pool.model);
}

void check_parallelism(Resolving& r) {
  Pool& pool = r.out.pool;
  const std::size_t before = r.errors.size();
  adopt_mistakes(r.errors, r.engine_key("tensor_parallel_size"),
                 [&] { require_tensor_parallel(*pool.model, pool.tensor_parallel_size); });
  if (r.errors.size() != before) return;
  if (r.cost.kind != CostKind::constant) {
    r.adopt(r.key("model"), [&] { (void)make_transformer(*pool.model, {.shard = pool.shard(), .kv = pool.kv}); });
  }
  if (pool.node && pool.tensor_parallel_size > pool.node->gpus_per_node) {
    const Config& at = r.engine_key("tensor_parallel_size");
    if (pool.node->nics == 0) {
      r.errors.add(at.mistake(fmt::format("{} GPUs do not fit into one `{}` ({} GPUs), which has no network cards to join several",
                                          pool.tensor_parallel_size, pool.node->name, pool.node->gpus_per_node)));
    } else {
      r.warn(at, fmt::format("tensor parallelism spans {} nodes of type `{}`: every all-reduce crosses the network cards",
                             ceil_divide(pool.tensor_parallel_size, pool.node->gpus_per_node), pool.node->name));
    }
  }
}

void add_drafter(Resolving& r) {
  Pool& pool = r.out.pool;
  const SpeculationKeys& keys = *r.out.keys.speculation;
  pool.drafter_host = keys.host.value_or(pool.host);
  pool.drafter_host.overlapped = pool.host.overlapped;
  if (!pool.gpu) return;  // neither priced nor counted
  adopt_mistakes(r.errors, r.engine_key("speculative_config"), [&] {
    pool.drafter = make_drafter_spec(keys, *pool.model, r.out.keys.dtype);
    if (pool.drafter && pool.drafter->sequential()) require_tensor_parallel(pool.drafter->model, pool.tensor_parallel_size);
    if (pool.drafter && r.cost.kind != CostKind::constant) (void)make_drafter(*pool.drafter, pool.tensor_parallel_size, pool.kv);
  });
  if (pool.drafter) fit_formats_to_gpu(r, pool.drafter->model);
}

// Model runner V2 serves dense models since 2026 (engine-semantics of vLLM main); V1 still the mixtures of experts.
bool uses_model_runner_v1(const Pool& pool) { return pool.engine.profile == "vllm-main-2026" && pool.model && pool.model->moe; }

std::int64_t resolve_model_len(Resolving& r) {
  const EngineKeys& keys = r.out.keys;
  const std::optional<ModelSpec>& model = r.out.pool.model;
  if (!keys.max_model_len) {
    if (model) return model->max_model_len;
    // A model that could not be read has been complained of already.
    if (r.out.model_name.empty()) r.errors.add(r.engine_node.mistake("`max_model_len` is missing, and there is no model to take it from"));
    return 1;
  }
  if (model && *keys.max_model_len > model->max_model_len) {
    r.errors.add(r.engine_key("max_model_len").mistake(fmt::format("{} is beyond the {} tokens of `{}`", *keys.max_model_len,
                                                                   model->max_model_len, model->name)));
  }
  return *keys.max_model_len;
}

// Blocks that cannot exist: weights and cache together exceed the card.
void check_override(Resolving& r, const MemoryBudget& budget, std::int64_t blocks) {
  const double cache = static_cast<double>(blocks) * budget.layout.block_bytes().as_double();
  const Bytes weights = budget.weights.total() + budget.drafter_weights;
  const double room = (budget.total - weights).as_double();
  const Config at = r.engine_key("num_gpu_blocks_override");
  if (cache > room) {
    r.errors.add(at.mistake(fmt::format("{} blocks of {:.3f} MiB are {:.2f} GiB, but beside {:.2f} GiB of weights the GPU has {:.2f} GiB; "
                                        "at most {} blocks", blocks, budget.layout.block_bytes().as_double() * 0x1p-20, cache * gib,
                                        weights.as_double() * gib, std::max(0.0, room * gib),
                                        std::max<std::int64_t>(0, budget.layout.blocks_in(budget.total - weights)))));
  } else if (blocks > budget.num_gpu_blocks) {
    r.warn(at, fmt::format("{} blocks are more than the {} that the memory budget leaves", blocks, budget.num_gpu_blocks));
  }
}

// A sequence that drops tokens never needs more than it keeps and the largest piece of its prompt.
void require_longest_fits(const ModelSpec& model, const MemoryRequest& request, const MemoryBudget& budget, const EngineConfig& engine) {
  const bool bounded = engine.kv_eviction.policy == KvEviction::Policy::streaming_llm;
  if (!bounded) return require_fits(model, request, budget);
  MemoryRequest shorter = request;
  shorter.max_model_len = std::min(request.max_model_len, engine.kv_eviction.most_kept() + request.max_num_batched_tokens);
  require_fits(model, shorter, memory_budget(model, shorter));
}

void check_token_eviction(Resolving& r) {
  if (!r.out.pool.engine.kv_eviction.on() || r.out.pool.engine.kv_groups.empty()) return;
  r.errors.add(r.engine_key("kv_eviction").mistake(fmt::format("`{}` has sliding-window layers, which drop tokens by themselves; token "
                                                               "eviction is simulated for full attention only", r.out.pool.model->name)));
}

// Host memory in blocks, and the link to it.
void size_host_memory(Resolving& r) {
  Pool& pool = r.out.pool;
  const EngineKeys& keys = r.out.keys;
  HostKv& host = pool.engine.host_kv;
  if (pool.gpu) host.link = host_link(*pool.gpu);
  const char* key = keys.swap_space ? "swap_space" : "kv_offloading_size";
  if (!keys.swap_space && !keys.kv_offloading_size) return;
  if (!pool.model || !pool.gpu) {
    if (r.out.model_name.empty()) {
      r.errors.add(r.engine_key(key).mistake("needs a model and a GPU: the bytes of its KV blocks say how many fit"));
    }
    return;
  }
  if (!pool.memory) return;  // complained of already
  const KvLayout& layout = pool.memory->layout;
  host.block_bytes = layout.block_bytes();
  host.copies_per_block = 2 * layout.layers_per_group;
  if (keys.swap_space) host.swap_blocks = layout.blocks_in(*keys.swap_space);
  if (!keys.kv_offloading_size) return;
  host.offload_blocks = layout.blocks_in(*keys.kv_offloading_size / pool.tensor_parallel_size);
  if (layout.groups.size() > 1) {
    r.errors.add(r.engine_key(key).mistake(fmt::format("`{}` has sliding-window layers; their offloading is not simulated", pool.model->name)));
  } else if (host.offload_blocks < 1) {
    r.errors.add(r.engine_key(key).mistake(fmt::format("holds no KV block of {} bytes per GPU", host.block_bytes.count())));
  }
}

void count_memory(Resolving& r) {
  Pool& pool = r.out.pool;
  const EngineKeys& keys = r.out.keys;
  EngineConfig& engine = pool.engine;
  const std::optional<EngineAge> age = vllm_age(*keys.profile);
  const bool blocks_given = keys.num_gpu_blocks_override.has_value();
  pool.gpu_memory_utilization = keys.gpu_memory_utilization.value_or(
      default_memory_fraction(*keys.profile, engine, pool.tensor_parallel_size, *pool.gpu));
  pool.num_gpu_blocks_override = keys.num_gpu_blocks_override;
  pool.kv_cache_memory_bytes = keys.kv_cache_memory_bytes;
  MemoryRequest request{.total_memory = pool.gpu->memory_visible,
                              .gpu_memory_utilization = pool.gpu_memory_utilization,
                              .kv_cache_memory = keys.kv_cache_memory_bytes,
                              .max_num_batched_tokens = engine.max_num_batched_tokens,
                              .max_num_seqs = engine.max_num_seqs,
                              .max_model_len = engine.max_model_len,
                              .block_size = engine.block_size,
                              .kv = pool.kv,
                              .shard = pool.shard(),
                              .drafter = pool.drafter ? &*pool.drafter : nullptr,
                              .age = age.value_or(EngineAge::vllm_v1),
                              .enforce_eager = keys.enforce_eager};
  r.adopt(r.key("model"), [&] {
    if (!age && !blocks_given && !keys.kv_cache_memory_bytes) request.kv_cache_memory = kv_memory(*keys.profile, *pool.model, request);
    pool.memory = memory_budget(*pool.model, request);
    engine.num_gpu_blocks = blocks_given ? *keys.num_gpu_blocks_override : pool.memory->num_gpu_blocks;
    const std::vector<std::int64_t> windows = pool.memory->layout.windows();
    if (!(windows.size() == 1 && windows[0] == 0)) engine.kv_groups = windows;
    engine.attention_window = pool.model->sliding_window();
    if (blocks_given) check_override(r, *pool.memory, *keys.num_gpu_blocks_override);
    else require_longest_fits(*pool.model, request, *pool.memory, engine);
  });
  check_token_eviction(r);
  if (keys.profile->budget == BudgetRule::sglang && !keys.max_num_seqs && pool.memory) {
    engine.max_num_seqs = sglang_max_running(engine.num_gpu_blocks * engine.block_size, engine.max_model_len);
  }
  if (age && pool.gpu_memory_utilization > 0.98 && !keys.kv_cache_memory_bytes) {
    r.warn(r.engine_key("gpu_memory_utilization"),
           fmt::format("{} leaves no memory to anything else on the GPU; engines run out of memory like that", pool.gpu_memory_utilization));
  }
}

void resolve_engine_and_memory(Resolving& r) {
  Pool& pool = r.out.pool;
  EngineKeys& keys = r.out.keys;
  if (keys.profile == nullptr) return;
  adopt_mistakes(r.errors, r.engine_key("profile"), [&] { (void)find_row(schedulers(), keys.profile->scheduler, "scheduler"); });
  pool.tensor_parallel_size = keys.tensor_parallel_size;
  pool.host = keys.host;
  pool.enforce_eager = keys.enforce_eager;
  if (!keys.config.kv_groups.empty() && pool.model) {
    r.errors.add(r.engine_key("kv_groups").mistake("follows from the model's layers; leave it out when there is a model"));
  }
  const std::size_t before = r.errors.size();
  if (pool.model) {
    apply_precision(r);
    check_parallelism(r);
    if (keys.config.speculation && r.errors.size() == before) add_drafter(r);
  }
  const std::int64_t max_model_len = resolve_model_len(r);
  pool.engine = resolve_engine(keys, max_model_len, pool.gpu ? &*pool.gpu : nullptr);
  pool.engine.num_gpu_blocks = keys.num_gpu_blocks_override.value_or(0);
  if (pool.gpu) pool.cudagraph_capture_sizes = cudagraph_capture_sizes(keys, pool.engine, *pool.gpu, uses_model_runner_v1(pool));
  pool.num_gpu_blocks_override = keys.num_gpu_blocks_override;
  if (pool.model && pool.gpu && !pool.model->encoder && r.errors.size() == before) count_memory(r);
  size_host_memory(r);
}

}  // namespace

ResolvedPool resolve_pool(const Config& node, std::size_t index, const CostConfig& cost, Diagnostics& errors,
                          std::vector<Diagnostic>& warnings, FitRule fit) {
  MapReader reader(node, errors);
  Resolving r{node, cost, errors, warnings, fit, Config::make_map(node.where(), node.path().empty() ? "engine" : node.path() + ".engine"), {}};
  r.out.pool.name = reader.get<std::string>("name", fmt::format("pool-{}", index));
  r.out.pool.replicas = reader.get<int>("replicas", 1, {1, 100'000});
  if (const auto engine = reader.child("engine"); engine && !engine->is_null()) r.engine_node = *engine;
  r.out.keys = read_engine(r.engine_node, errors);
  const bool bare = cost.kind == CostKind::constant && r.out.keys.num_gpu_blocks_override.has_value();
  read_gpu_and_node(r, reader, !bare);
  read_model(r, reader, !bare);
  if (const auto price = reader.maybe<DollarsPerHour>("price_per_gpu_hour", non_negative)) {
    r.out.pool.price_per_gpu_hour = *price;
  } else if (r.out.pool.gpu && r.out.pool.gpu->price) {
    r.out.pool.price_per_gpu_hour = r.out.pool.gpu->price->per_gpu_hour;
  }
  read_calibration(r, reader);
  reader.done();
  resolve_engine_and_memory(r);
  return std::move(r.out);
}

}  // namespace ridgeline
