#include "sim/routing/builtin.hpp"

namespace ridgeline {

const std::vector<RegistryRow<MakeRouter>>& routers() {
  static const std::vector<RegistryRow<MakeRouter>> rows{
      {"round-robin", "each replica in turn", {}, make_round_robin},
      {"random", "uniformly at random", {}, make_random},
      {"least-outstanding", "fewest requests routed and unfinished; ties go to the lowest replica", {}, make_least_outstanding},
      {"power-of-two", "the less loaded of two replicas drawn at random", {}, make_power_of_two},
      {"least-kv", "lowest share of KV blocks in use; ties by outstanding requests, then lowest replica", {}, make_least_kv},
      {"llm-d", "llm-d's default: scores queue, KV use and prefix affinity, from metrics polled now and then",
       {"queue_weight", "kv_weight", "prefix_weight", "metrics_interval", "block_size"}, make_llm_d},
      {"sglang-cache-aware", "SGLang gateway: the longest matching prefix while loads are balanced, else the least loaded",
       {"cache_threshold", "balance_abs_threshold", "balance_rel_threshold"}, make_sglang_cache_aware},
      {"production-stack-session", "vLLM production-stack: a hash ring over sessions; without a session the lowest request rate",
       {}, make_production_stack_session},
      {"production-stack-prefix", "vLLM production-stack: a replica that got the longest prefix before, whatever its load",
       {}, make_production_stack_prefix},
      {"dynamo-kv", "NVIDIA Dynamo: least tokens to prefill and blocks to decode, cached prefixes counted",
       {"kv_overlap_score_weight", "router_temperature", "block_size"}, make_dynamo_kv},
  };
  return rows;
}

}  // namespace ridgeline
