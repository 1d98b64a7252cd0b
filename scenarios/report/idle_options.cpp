#include "scenarios/report/idle_options.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "scenarios/load/engine_profiles.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

struct Seen {
  const EngineConfig& engine;
  const PoolMetrics& pool;
  const WorkloadStatistics::Summary& lengths;
  const std::optional<ModelSpec>& model;
  [[nodiscard]] bool waited_for_memory() const { return pool.preemptions > 0 || pool.kv_cache_usage_peak > 0.9; }
};

// The reason why the option did nothing, or "".
struct Rule {
  std::string option;
  std::function<std::string(const Seen&)> reason;
};

std::string never_full(const Seen& s) {
  return s.waited_for_memory() ? "" : fmt::format("no request waited for KV blocks: at most {} were in use", percent(s.pool.kv_cache_usage_peak));
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> list{
      {"max_num_seqs",
       [](const Seen& s) {
         return s.pool.running_peak >= s.engine.max_num_seqs ? ""
                                                             : fmt::format("at most {} requests ran at once, the limit is {}",
                                                                           grouped(s.pool.running_peak), grouped(s.engine.max_num_seqs));
       }},
      {"max_num_batched_tokens",
       [](const Seen& s) {
         return s.pool.step_tokens_peak >= s.engine.max_num_batched_tokens
                    ? ""
                    : fmt::format("no step had more than {} tokens, the limit is {}", grouped(s.pool.step_tokens_peak),
                                  grouped(s.engine.max_num_batched_tokens));
       }},
      {"enable_prefix_caching",
       [](const Seen& s) { return s.pool.prompt_tokens_cached > 0 ? "" : "no prompt began with a cached prefix"; }},
      {"enable_chunked_prefill",
       [](const Seen& s) {
         return s.pool.step_tokens_peak >= s.engine.max_num_batched_tokens ? "" : "every prompt fitted into one step";
       }},
      {"max_model_len",
       [](const Seen& s) {
         return fmt::format("only a limit; the longest prompt has {} tokens, the longest output {}", grouped(s.lengths.input.most.count()),
                            grouped(s.lengths.output.most.count()));
       }},
      {"gpu_memory_utilization", never_full},
      {"block_size", never_full},
      {"dtype",
       [](const Seen& s) {
         const bool half = s.model && (s.model->release_dtype == DType::bf16 || s.model->release_dtype == DType::fp16);
         return half ? "bfloat16 and float16 take the same bytes and time" : "";
       }},
      {"scheduler_reserve_full_isl", never_full},
      {"watermark", never_full},
      {"scheduling_policy",
       [](const Seen& s) {
         return s.engine.scheduling_policy == "priority" && s.pool.preemptions == 0 && s.pool.queue_peak == 0 ? "no request ever waited" : "";
       }},
      {"long_prefill_token_threshold",
       [](const Seen& s) {
         return s.engine.long_prefill_token_threshold >= s.engine.max_num_batched_tokens ? "is not below max_num_batched_tokens" : "";
       }},
      {"speculative_config",
       [](const Seen& s) {
         return s.engine.speculation && s.pool.speculation && s.pool.speculation->drafts == 0 ? "no drafts were ever verified" : "";
       }},
  };
  return list;
}

// The common options, and those of the profile.
bool has_option(const std::string& profile, const std::string& option) {
  static const std::set<std::string> common{"max_num_seqs", "max_model_len", "gpu_memory_utilization", "block_size", "dtype"};
  if (common.count(option) > 0) return true;
  const EngineProfile* row = find_engine_profile(profile);
  return row != nullptr && std::find(row->options.begin(), row->options.end(), option) != row->options.end();
}

}  // namespace

std::vector<std::string> options_without_effect(const Scenario& scenario, const RunResult& result) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < scenario.fleet.size(); ++i) {
    const Pool& pool = scenario.fleet[i];
    for (const Rule& rule : rules()) {
      if (!has_option(pool.engine.profile, rule.option)) continue;
      const std::string reason = rule.reason({pool.engine, result.metrics.pools.at(i), result.workload.statistics, pool.model});
      if (!reason.empty()) lines.push_back(fmt::format("{}: {}: {}", pool.name, rule.option, reason));
    }
  }
  return lines;
}

}  // namespace ridgeline
