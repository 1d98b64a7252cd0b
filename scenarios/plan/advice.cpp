#include "scenarios/plan/advice.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "models/shard.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

std::string seconds_text(Duration time) {
  return time.seconds() >= 1.0 ? figure(time.seconds()) + " s" : figure(time.milliseconds()) + " ms";
}

// Prices a replica like `pool` but for one change. Nullopt where the change can't be priced.
std::optional<ReplicaBounds> changed(const Scenario& planned, Pool pool, const Demand& demand, const std::function<void(Pool&)>& change) {
  try {
    change(pool);
    const auto lacks = [&](const WeightFormat& format) { return !pool.gpu->supports(format.math); };
    if (std::any_of(pool.model->formats.begin(), pool.model->formats.end(), lacks)) return std::nullopt;
    return replica_bounds(planned, pool, demand);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

struct Alone {
  const Configuration* configuration = nullptr;
  ReplicaBounds bounds;
};

// The configuration that serves one request fastest, of those that fit.
Alone fastest_alone(const std::vector<Configuration>& configurations, const Scenario& planned, const Demand& demand) {
  Alone best;
  for (const Configuration& configuration : configurations) {
    if (configuration.refusal != Refusal::none) continue;
    const ReplicaBounds bounds = replica_bounds(planned, configuration.replica(), demand);
    const bool by_first_token = planned.slo.ttft && bounds.ttft > *planned.slo.ttft;
    const auto better = [&] { return by_first_token ? bounds.ttft < best.bounds.ttft : bounds.tpot < best.bounds.tpot; };
    if (best.configuration == nullptr || better()) best = {&configuration, bounds};
  }
  return best;
}

class Advice {
 public:
  Advice(const Scenario& planned, const Demand& demand, const Alone& alone) : planned_(planned), demand_(demand), alone_(alone) {}

  std::vector<std::string> sentences() {
    try_degrees();
    try_chunk();
    try_gpus();
    name_limits();
    return std::move(sentences_);
  }

 private:
  [[nodiscard]] bool keeps(const ReplicaBounds& bounds) const { return slower_alone_than(planned_.slo, bounds, demand_).empty(); }
  [[nodiscard]] static std::string times(const ReplicaBounds& bounds) {
    return fmt::format("TTFT {}, TPOT {} alone", seconds_text(bounds.ttft), seconds_text(bounds.tpot));
  }

  void try_degrees() {
    const Pool& pool = alone_.configuration->replica();
    for (const int degree : valid_tensor_parallel_sizes(*pool.model)) {
      if (degree <= pool.tensor_parallel_size || degree > pool.node->gpus_per_node) continue;
      const auto bounds = changed(planned_, pool, demand_, [&](Pool& p) { p.tensor_parallel_size = degree; });
      if (!bounds || !keeps(*bounds)) continue;
      sentences_.push_back(fmt::format("tensor_parallel_size {} on {}: {}", degree, pool.gpu->name, times(*bounds)));
      return;
    }
  }

  void try_chunk() {
    const Pool& pool = alone_.configuration->replica();
    if (pool.engine.max_num_batched_tokens >= demand_.tail_input.count()) return;
    const auto bounds = changed(planned_, pool, demand_, [&](Pool& p) { p.engine.max_num_batched_tokens = demand_.tail_input.count(); });
    if (!bounds || !(bounds->ttft < alone_.bounds.ttft)) return;
    sentences_.push_back(fmt::format("max_num_batched_tokens {} (the prompt in one piece): {}{}", grouped(demand_.tail_input.count()), times(*bounds),
                                     keeps(*bounds) ? "" : ", still too slow"));
  }

  void try_gpus() {
    const Pool& pool = alone_.configuration->replica();
    std::vector<std::pair<Duration, std::string>> faster;
    for (const std::string& name : gpu_names()) {
      if (name == pool.gpu->name) continue;
      const auto bounds = changed(planned_, pool, demand_, [&](Pool& p) { p.gpu = load_gpu(name), p.node = default_node(*p.gpu); });
      if (bounds && keeps(*bounds)) faster.emplace_back(bounds->ttft, fmt::format("{}: {}", name, times(*bounds)));
    }
    std::sort(faster.begin(), faster.end());
    if (faster.empty()) return;
    sentences_.push_back(fmt::format("another GPU with the same degree: {}{}", faster.front().second,
                                     faster.size() > 1 ? fmt::format(" ({} GPUs of the catalog would do)", faster.size()) : ""));
  }

  void name_limits() {
    const Slo& slo = planned_.slo;
    if (slo.ttft && alone_.bounds.ttft > *slo.ttft) {
      sentences_.push_back(fmt::format("a TTFT limit above {}, the time of one prompt of {} tokens alone on {}", seconds_text(alone_.bounds.ttft),
                                       grouped(demand_.tail_input.count()), alone_.configuration->label));
    }
    if (slo.tpot && alone_.bounds.tpot > *slo.tpot) {
      sentences_.push_back(fmt::format("a TPOT limit above {}, the step of one sequence alone on {}", seconds_text(alone_.bounds.tpot), alone_.configuration->label));
    }
  }

  const Scenario& planned_;
  const Demand& demand_;
  const Alone& alone_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::string slower_alone_than(const Slo& slo, const ReplicaBounds& alone, const Demand& demand) {
  if (slo.ttft && alone.ttft > *slo.ttft) {
    return fmt::format("one request takes {} to its first token ({} prompt tokens; limit {})", seconds_text(alone.ttft),
                       grouped(demand.tail_input.count()), seconds_text(*slo.ttft));
  }
  for (const auto& [name, limit] : {std::pair{"TPOT", slo.tpot}, std::pair{"ITL", slo.itl}}) {
    if (limit && alone.tpot > *limit) {
      return fmt::format("one request takes {} a token ({} limit {})", seconds_text(alone.tpot), name, seconds_text(*limit));
    }
  }
  if (slo.e2el && alone.e2el > *slo.e2el) {
    return fmt::format("one request takes {} ({} output tokens; limit {})", seconds_text(alone.e2el), grouped(demand.tail_output.count()), seconds_text(*slo.e2el));
  }
  return "";
}

std::vector<std::string> advice_for_infeasible(const std::vector<Configuration>& configurations, const Scenario& planned, const Demand& demand) {
  const Alone alone = fastest_alone(configurations, planned, demand);
  if (alone.configuration == nullptr) return {};
  if (slower_alone_than(planned.slo, alone.bounds, demand).empty()) {
    return {"more replicas, GPUs or money: raise `replicas`, `max_gpus` or `max_price` of `plan.candidates`"};
  }
  return Advice(planned, demand, alone).sentences();
}

}  // namespace ridgeline
