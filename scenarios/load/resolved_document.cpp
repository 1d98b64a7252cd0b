#include "scenarios/load/resolved_document.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/engine_memory.hpp"
#include "scenarios/load/router_config.hpp"
#include "scenarios/report/decimal.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

std::string microseconds(Duration time) { return microseconds_text(time) + " us"; }

void put_speculation(const ResolvedPool& resolved, Json& json) {
  if (!resolved.keys.speculation) return;
  const SpeculationKeys& keys = *resolved.keys.speculation;
  const SpeculationConfig& config = keys.config;
  Json speculation;
  speculation["method"] = config.method;
  speculation["num_speculative_tokens"] = config.num_speculative_tokens;
  if (config.tree_depth > 0) speculation["tree_depth"] = config.tree_depth;
  if (config.tree_depth > 0 && config.method != "medusa") speculation["tree_topk"] = config.tree_topk;
  if (!keys.draft_model.empty()) {
    speculation["model"] = keys.draft_model;
    speculation["quantization"] = keys.quantization;
  }
  if (keys.draft_vocab_size > 0) speculation["draft_vocab_size"] = keys.draft_vocab_size;
  if (!config.acceptance.empty()) speculation["acceptance"] = config.acceptance;
  if (!config.accepted.empty()) speculation["accepted"] = config.accepted;
  if (config.method == "ngram") speculation["match_probability"] = config.match_probability;
  for (const SpeculationConfig::Rung& rung : config.by_batch_size) {
    speculation["num_speculative_tokens_by_batch_size"][std::to_string(rung.batch_size)] = rung.tokens;
  }
  if (resolved.pool.model && config.num_speculative_tokens > 0) {
    speculation["host_overhead"] = {{"per_step", microseconds(resolved.pool.drafter_host.per_step)},
                                    {"per_sequence", microseconds(resolved.pool.drafter_host.per_sequence)}};
  }
  json["speculative_config"] = speculation;
}

void put_kv_eviction(const KvEviction& eviction, Json& json) {
  if (!eviction.on()) return;
  if (eviction.policy == KvEviction::Policy::h2o) json["kv_eviction"] = {{"policy", "h2o"}, {"budget", eviction.budget}};
  else json["kv_eviction"] = {{"policy", "streaming-llm"}, {"sinks", eviction.sinks}, {"window", eviction.window}};
}

void put_bytes(const std::string& option, const std::optional<Bytes>& bytes, Json& json) {
  if (bytes) json[option] = fmt::format("{} B", bytes->count());
}

// The profile's own options, in the order of the profile.
void put_option(const std::string& option, const ResolvedPool& resolved, Json& json) {
  const EngineConfig& config = resolved.pool.engine;
  if (option == "max_num_batched_tokens") json[option] = config.max_num_batched_tokens;
  else if (option == "enable_prefix_caching") json[option] = config.enable_prefix_caching;
  else if (option == "enable_chunked_prefill") json[option] = config.enable_chunked_prefill;
  else if (option == "long_prefill_token_threshold") json[option] = config.long_prefill_token_threshold;
  else if (option == "scheduling_policy") json[option] = config.scheduling_policy;
  else if (option == "async_scheduling") json[option] = config.async_scheduling;
  else if (option == "scheduler_reserve_full_isl") json[option] = config.scheduler_reserve_full_isl;
  else if (option == "watermark") json[option] = config.watermark;
  else if (option == "speculative_config") put_speculation(resolved, json);
  else if (option == "chunked_prefill_size") json[option] = config.chunked_prefill_size;
  else if (option == "max_prefill_tokens") json[option] = config.max_prefill_tokens;
  else if (option == "schedule_policy") json[option] = config.schedule_policy;
  else if (option == "schedule_conservativeness") json[option] = config.schedule_conservativeness;
  else if (option == "enable_mixed_chunk") json[option] = config.enable_mixed_chunk;
  else if (option == "capacity_policy") json[option] = config.capacity_policy;
  else if (option == "max_queue_delay") json[option] = seconds_text(config.max_queue_delay) + " s";
  else if (option == "preemption_mode") json[option] = config.preemption_mode;
  else if (option == "swap_space") put_bytes(option, resolved.keys.swap_space, json);
  else if (option == "kv_offloading_size") put_bytes(option, resolved.keys.kv_offloading_size, json);
  else if (option == "kv_reservation") json[option] = config.kv_reservation;
  else if (option == "kv_eviction") put_kv_eviction(config.kv_eviction, json);
  else if (option == "chunk_unit") json[option] = config.chunk_unit;
  else if (option == "chunk_policy") json[option] = config.chunk_policy;
  else if (option == "kv_groups") {
    // With a model they follow from its layers.
    if (resolved.keys.config.kv_groups.empty()) return;
    for (const std::int64_t window : resolved.keys.config.kv_groups) json[option].push_back(window == 0 ? Json() : Json(window));
  } else {
    throw InternalError("engine option `" + option + "` is missing in the resolved scenario");
  }
}

Json engine_json(const ResolvedPool& resolved) {
  const Pool& pool = resolved.pool;
  const EngineKeys& keys = resolved.keys;
  Json json;
  json["profile"] = keys.profile->name;
  json["tensor_parallel_size"] = pool.tensor_parallel_size;
  json["dtype"] = keys.dtype;
  json["quantization"] = keys.quantization;
  json["kv_cache_dtype"] = keys.kv_cache_dtype;
  json["max_model_len"] = pool.engine.max_model_len;
  json["max_num_seqs"] = pool.engine.max_num_seqs;
  json["block_size"] = pool.engine.block_size;
  if (pool.kv_cache_memory_bytes) {
    json["kv_cache_memory_bytes"] = pool.kv_cache_memory_bytes->count();
  } else if (pool.memory || keys.gpu_memory_utilization) {
    json[std::string(memory_fraction_key(*keys.profile))] = pool.memory ? pool.gpu_memory_utilization : *keys.gpu_memory_utilization;
  }
  if (pool.num_gpu_blocks_override) json["num_gpu_blocks_override"] = *pool.num_gpu_blocks_override;
  json["enforce_eager"] = pool.enforce_eager;
  json["host_overhead"] = {{"per_step", microseconds(pool.host.per_step)},
                           {"per_sequence", microseconds(pool.host.per_sequence)},
                           {"overlapped", pool.host.overlapped}};
  for (const std::string& option : keys.profile->options) put_option(option, resolved, json);
  return json;
}

Json pool_json(const ResolvedPool& resolved) {
  const Pool& pool = resolved.pool;
  Json json;
  json["name"] = pool.name;
  if (pool.gpu) json["gpu"] = resolved.gpu_name;
  if (pool.node) json["node"] = resolved.node_name;
  json["replicas"] = pool.replicas;
  if (pool.model) json["model"] = resolved.model_name;
  if (pool.price_per_gpu_hour) json["price_per_gpu_hour"] = fmt::format("{} USD/h", pool.price_per_gpu_hour->count());
  json["calibration"] = pool.calibration;
  json["engine"] = engine_json(resolved);
  return json;
}

// The double nearest to the decimal text: 500, where a product would give 500.00000000000006.
Json milliseconds(Duration time) { return std::stod(milliseconds_text(time)); }

Json slo_json(const Slo& slo) {
  Json json;
  if (slo.ttft) json["ttft_ms"] = milliseconds(*slo.ttft);
  if (slo.tpot) json["tpot_ms"] = milliseconds(*slo.tpot);
  if (slo.itl) json["itl_ms"] = milliseconds(*slo.itl);
  if (slo.e2el) json["e2el_ms"] = milliseconds(*slo.e2el);
  if (slo.percentile) json["percentile"] = *slo.percentile;
  if (slo.goodput_share) json["goodput"] = *slo.goodput_share;
  return json;
}

Json cost_json(const CostConfig& cost) {
  switch (cost.kind) {
    case CostKind::roofline: return {{"model", "roofline"}};
    case CostKind::table: return {{"model", "table"}, {"table", cost.table_file}};
    case CostKind::constant: return {{"model", "constant"}, {"step_time", seconds_text(cost.step_time) + " s"}};
  }
  throw InternalError("a cost model of an unknown kind");
}

Json derived_json(const Pool& pool) {
  Json json;
  json["pool"] = pool.name;
  json["gpus"] = pool.gpus();
  json["num_gpu_blocks"] = pool.engine.num_gpu_blocks;
  if (pool.engine.host_kv.swap_blocks > 0) json["num_cpu_blocks"] = pool.engine.host_kv.swap_blocks;
  if (pool.engine.host_kv.offload_blocks > 0) json["kv_offload_blocks"] = pool.engine.host_kv.offload_blocks;
  if (!pool.memory) return json;
  const MemoryBudget& memory = *pool.memory;
  json["kv_cache_tokens"] = memory.kv_tokens.count();
  json["max_concurrency_at_max_model_len"] = memory.max_concurrency;
  json["weight_bytes_per_gpu"] = memory.weights.total().count();
  if (pool.drafter) {
    json["drafter_weight_bytes_per_gpu"] = memory.drafter_weights.count();
    json["drafter_kv_bytes_per_token_per_gpu"] = kv_bytes_per_token(pool.drafter->model, pool.kv, pool.shard()).count();
  }
  if (pool.engine.speculation) json["expected_tokens_per_step"] = expected_tokens_per_step(*pool.engine.speculation);
  json["activation_bytes_per_gpu"] = memory.activations.count();
  json["kv_cache_bytes_per_gpu"] = memory.kv.count();
  json["kv_bytes_per_token_per_gpu"] = kv_bytes_per_token(*pool.model, pool.kv, pool.shard()).count();
  return json;
}

}  // namespace

Config resolved_document(const Scenario& scenario, const std::vector<ResolvedPool>& pools) {
  Json json;
  json["name"] = scenario.name;
  json["seed"] = scenario.seed;
  json["fleet"] = Json::array();
  for (const ResolvedPool& pool : pools) json["fleet"].push_back(pool_json(pool));
  json["router"] = router_json(scenario.router);
  json["workload"] = to_json(to_config(scenario.workload));
  if (!scenario.slo.empty()) json["slo"] = slo_json(scenario.slo);
  json["cost"] = cost_json(scenario.cost);
  json["derived"] = Json::array();
  for (const ResolvedPool& pool : pools) json["derived"].push_back(derived_json(pool.pool));
  return to_config(json, "resolved scenario");
}

}  // namespace ridgeline
