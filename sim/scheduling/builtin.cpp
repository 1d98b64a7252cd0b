#include "sim/scheduling/builtin.hpp"

#include "sim/scheduling/orca.hpp"
#include "sim/scheduling/sarathi.hpp"
#include "sim/scheduling/sglang.hpp"
#include "sim/scheduling/static_batching.hpp"
#include "sim/scheduling/tensorrt_llm.hpp"
#include "sim/scheduling/vllm_v0.hpp"
#include "sim/scheduling/vllm_v1.hpp"

namespace ridgeline {

const std::vector<RegistryRow<MakeScheduler>>& schedulers() {
  static const std::vector<RegistryRow<MakeScheduler>> rows{
      {"vllm_v1", "vLLM V1: continuous batching with chunked prefill, paged KV, preemption by recompute",
       {"max_num_seqs", "max_num_batched_tokens", "enable_prefix_caching", "enable_chunked_prefill", "long_prefill_token_threshold",
        "scheduling_policy", "async_scheduling", "watermark", "speculation", "kv_offloading_size", "kv_eviction"},
       make_vllm_v1},
      {"vllm_v0", "vLLM V0: whole prompts first, else one token of every running request",
       {"max_num_seqs", "max_num_batched_tokens", "watermark", "preemption_mode", "swap_space"}, make_vllm_v0},
      {"sglang", "SGLang: prompts first, radix cache, admission by estimate, retraction",
       {"max_num_seqs", "chunked_prefill_size", "max_prefill_tokens", "schedule_policy", "schedule_conservativeness",
        "enable_prefix_caching", "enable_mixed_chunk"},
       make_sglang},
      {"tensorrt_llm", "TensorRT-LLM: capacity scheduler, then micro-batches",
       {"max_num_seqs", "max_num_batched_tokens", "enable_prefix_caching", "capacity_policy", "enable_chunked_prefill", "chunk_unit",
        "chunk_policy"},
       make_tensorrt_llm},
      {"sarathi", "Sarathi-Serve: every decode runs, chunks of prompts fill the token budget",
       {"max_num_seqs", "max_num_batched_tokens", "watermark"}, make_sarathi},
      {"orca", "Orca: iteration-level batching, KV reserved at admission", {"max_num_seqs", "watermark", "kv_reservation"}, make_orca},
      {"static", "FasterTransformer: padded batch that ends together", {"max_num_seqs", "watermark", "kv_reservation"}, make_static},
      {"static_early_free", "static batch whose finished requests leave at once", {"max_num_seqs", "watermark", "kv_reservation"},
       make_static_early_free},
      {"dynamic_batching", "Triton: static batches, formed when full or after a maximum delay",
       {"max_num_seqs", "max_queue_delay", "watermark", "kv_reservation"}, make_dynamic_batching},
  };
  return rows;
}

}  // namespace ridgeline
