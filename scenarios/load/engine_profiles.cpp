// Defaults read in the engines' sources (versions in docs/assumptions.md). Host overheads, which `host_overhead` in a scenario replaces:
// vLLM V0 spends milliseconds between steps (vllm-project/vllm#6854); V1 half a millisecond (TPOT at batch 1 to 64: GPUStack,
// InferenceX); TensorRT-LLM 1.0 ms that nothing hides, at every degree of tensor parallelism (InferenceX' H100 points of 1.0.0rc3, checked on GPUStack's); its
// static batches 1.2 ms (Argonne LLM-Inference-Bench). SGLang's is engine-semantics' default: GPUStack's TPOT is met within 5 %.
#include "scenarios/load/engine_profiles.hpp"

#include <algorithm>

namespace ridgeline {

namespace {

HostOverhead host(std::int64_t fixed_us, std::int64_t per_sequence_us, bool overlapped) {
  return {Duration::microseconds(fixed_us), Duration::microseconds(per_sequence_us), overlapped};
}

const std::vector<std::string> vllm_v1_options{
    "max_num_batched_tokens", "enable_prefix_caching", "enable_chunked_prefill", "long_prefill_token_threshold",
    "scheduling_policy",      "async_scheduling",      "kv_groups",              "speculative_config",
    "kv_eviction"};

std::vector<std::string> with(std::vector<std::string> base, const std::vector<std::string>& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

EngineProfile vllm_main() {
  EngineProfile row;
  row.name = "vllm-main-2026";
  row.aliases = {"vllm", "main_2026", "vllm-main"};
  row.description = "vLLM V1, main of August 2026: chunked prefill, async scheduling, admission gate";
  row.scheduler = "vllm_v1";
  row.options = with(vllm_v1_options, {"scheduler_reserve_full_isl", "watermark", "kv_offloading_size"});
  row.host = host(500, 10, true);
  row.budget = BudgetRule::vllm_v1_big_tier;
  row.gpu_memory_utilization = 0.92;
  row.enable_prefix_caching = row.enable_chunked_prefill = row.async_scheduling = true;
  row.reserve_full_isl = row.prepend_unhashed_free_blocks = true;
  row.lookahead_at_admission = row.pads_new_decodes = true;
  return row;
}

EngineProfile vllm_011() {
  EngineProfile row;
  row.name = "vllm-0.11";
  row.aliases = {"v0.11", "vllm-0.10"};
  row.description = "vLLM V1 as of 0.10 to 0.11 (2025): synchronous, no admission gate";
  row.scheduler = "vllm_v1";
  row.options = vllm_v1_options;
  row.host = host(500, 10, false);
  row.budget = BudgetRule::vllm_v1;
  row.enable_prefix_caching = row.enable_chunked_prefill = true;
  row.chunked_off_skips = true;
  return row;
}

EngineProfile vllm_v0() {
  EngineProfile row;
  row.name = "vllm-v0";
  row.aliases = {"vllm_v0"};
  row.description = "vLLM V0 (2023 to 2024): prefill-only or decode-only steps, 1 % watermark";
  row.scheduler = "vllm_v0";
  row.options = {"max_num_batched_tokens", "watermark", "preemption_mode", "swap_space"};
  row.host = host(3000, 20, false);
  row.budget = BudgetRule::vllm_v0;
  row.watermark = 0.01;
  return row;
}

EngineProfile sglang() {
  EngineProfile row;
  row.name = "sglang";
  row.description = "SGLang, main of July 2026: prefill first, radix cache, retraction";
  row.scheduler = "sglang";
  row.options = {"chunked_prefill_size",  "max_prefill_tokens", "schedule_policy", "schedule_conservativeness",
                 "enable_prefix_caching", "enable_mixed_chunk"};
  row.host = host(400, 5, true);
  row.budget = BudgetRule::sglang;
  row.block_size = 1;
  row.enable_prefix_caching = row.enable_chunked_prefill = true;
  return row;
}

EngineProfile tensorrt_llm() {
  EngineProfile row;
  row.name = "tensorrt-llm";
  row.aliases = {"tensorrt_llm", "trtllm", "trt-llm"};
  row.description = "TensorRT-LLM batch manager (2025 to 2026): capacity scheduler, then micro-batches";
  row.scheduler = "tensorrt_llm";
  row.options = {"max_num_batched_tokens", "enable_prefix_caching", "enable_chunked_prefill", "capacity_policy", "chunk_unit", "chunk_policy"};
  row.host = host(1000, 3, false);
  row.max_num_batched_tokens = 8192;
  row.max_num_seqs = 2048;
  row.block_size = 32;
  row.enable_prefix_caching = true;  // block reuse
  return row;
}

EngineProfile sarathi() {
  EngineProfile row;
  row.name = "sarathi";
  row.description = "Sarathi-Serve: chunks of 512 tokens that decodes ride along";
  row.scheduler = "sarathi";
  row.options = {"max_num_batched_tokens", "watermark"};
  row.host = host(3000, 20, false);  // built on vLLM V0's worker
  row.max_num_batched_tokens = 512;
  row.max_num_seqs = 128;
  row.watermark = 0.01;
  row.enable_chunked_prefill = true;
  return row;
}

EngineProfile orca() {
  EngineProfile row;
  row.name = "orca";
  row.description = "Orca: iteration-level batching, KV reserved at admission (max_model_len unless kv_reservation says otherwise)";
  row.scheduler = "orca";
  row.options = {"watermark", "kv_reservation"};
  row.host = host(3000, 20, false);  // as re-implemented in Sarathi-Serve
  row.max_num_seqs = 128;
  row.watermark = 0.01;
  return row;
}

EngineProfile fixed_batch(const std::string& name, const std::string& alias, const std::string& description) {
  EngineProfile row;
  row.name = name;
  if (alias != name) row.aliases = {alias};
  row.description = description;
  row.scheduler = alias;
  row.options = {"watermark", "kv_reservation"};
  row.host = host(1200, 3, false);
  row.max_num_seqs = 128;
  return row;
}

EngineProfile dynamic_batching() {
  EngineProfile row = fixed_batch("dynamic-batching", "dynamic_batching", "Triton: static batches, formed when full or after max_queue_delay");
  row.aliases.push_back("triton");
  row.options = {"max_queue_delay", "watermark", "kv_reservation"};
  return row;
}

}  // namespace

const std::vector<EngineProfile>& engine_profiles() {
  static const std::vector<EngineProfile> rows{
      vllm_main(),
      vllm_011(),
      vllm_v0(),
      sglang(),
      tensorrt_llm(),
      sarathi(),
      orca(),
      fixed_batch("static", "static", "FasterTransformer: padded batch that ends together"),
      fixed_batch("static-early-free", "static_early_free", "static batch whose finished rows free their memory at once"),
      dynamic_batching(),
  };
  return rows;
}

const EngineProfile* find_engine_profile(std::string_view name) {
  for (const EngineProfile& row : engine_profiles()) {
    if (row.name == name || std::find(row.aliases.begin(), row.aliases.end(), name) != row.aliases.end()) return &row;
  }
  return nullptr;
}

}  // namespace ridgeline
