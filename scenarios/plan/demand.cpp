#include "scenarios/plan/demand.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/report/text.hpp"
#include "workloads/traces/session_trace.hpp"

namespace ridgeline {

namespace {

using Process = ArrivalConfig::Process;

constexpr std::int64_t sample_size = 20'000;

LoadKnob knob_of(const WorkloadConfig& workload) {
  if (workload.max_concurrency && (!workload.arrival || workload.arrival->process == Process::all_at_once)) return LoadKnob::max_concurrency;
  if (!workload.arrival || workload.arrival->process == Process::steps || workload.arrival->process == Process::ramp) return LoadKnob::rate_factor;
  return LoadKnob::request_rate;
}

double load_of(const WorkloadConfig& workload, LoadKnob knob) {
  switch (knob) {
    case LoadKnob::request_rate: return workload.arrival->request_rate.count();
    case LoadKnob::rate_factor: return 1.0;
    case LoadKnob::max_concurrency: return static_cast<double>(*workload.max_concurrency);
  }
  throw InternalError("a load knob of an unknown kind");
}

// The value of which `share` of the sample is at most.
Tokens quantile(std::vector<std::int64_t>& values, double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return Tokens{values[rank]};
}

bool has_steps(const WorkloadConfig& workload) { return workload.arrival && workload.arrival->process == Process::steps; }

double busiest_rate(const ArrivalConfig& arrival) {
  double most = 0.0;
  for (const RequestsPerSecond rate : arrival.rates) most = std::max(most, rate.count());
  return most;
}

// Prompt tokens that the prefix cache may hold after the first request: at most these.
std::int64_t cached_tokens(const Scenario& scenario) {
  const bool caching = std::all_of(scenario.fleet.begin(), scenario.fleet.end(), [](const Pool& pool) { return pool.engine.enable_prefix_caching; });
  if (!caching || !scenario.workload.shared_prefix) return 0;
  const LengthConfig& prefix = scenario.workload.shared_prefix->tokens;
  return (prefix.distribution == LengthConfig::Distribution::fixed ? prefix.tokens : prefix.most).count();
}

// What is asked and when must follow from a rate: not so where requests wait for answers, or clients have rates of their own.
void require_plannable(const WorkloadConfig& workload) {
  if (workload.sessions || (workload.trace && has_sessions(*workload.trace))) {
    throw ConfigError("plan: sessions, whose requests wait for answers, can't be planned in this version; `sweep` compares fleets under them");
  }
  if (workload.servegen) throw ConfigError("plan: a `servegen` workload can't be planned in this version; `sweep` compares fleets under it");
}

}  // namespace

double share_of(const Slo& slo) {
  if (slo.goodput_share) return *slo.goodput_share;
  return slo.percentile.value_or(99.0) / 100.0;
}

WorkloadConfig planned_workload(const Scenario& scenario, std::optional<std::int64_t> num_prompts) {
  require_plannable(scenario.workload);
  WorkloadConfig workload = scenario.workload;
  if (has_steps(workload)) {
    workload.arrival->process = Process::gamma;
    workload.arrival->request_rate = RequestsPerSecond{busiest_rate(*workload.arrival)};
    workload.arrival->rates.clear();
    workload.arrival->durations.clear();
    workload.duration.reset();
    workload.num_prompts.reset();
  }
  if (num_prompts) workload.num_prompts = num_prompts;
  if (num_prompts || knob_of(workload) != LoadKnob::request_rate) return workload;
  const Duration limit = scenario.slo.ttft.value_or(Duration{});
  const double seconds = std::max(300.0, 100.0 * limit.seconds());
  const double rate = workload.arrival->request_rate.count();
  const double stated = std::max(static_cast<double>(workload.num_prompts.value_or(0)),
                                 workload.duration ? rate * workload.duration->seconds() : 0.0);
  workload.num_prompts = static_cast<std::int64_t>(std::ceil(std::clamp(std::max(rate * seconds, stated), 5'000.0, 2e6)));
  workload.duration.reset();
  return workload;
}

Demand measure_demand(const Scenario& scenario) {
  require_plannable(scenario.workload);
  Demand demand;
  demand.knob = knob_of(scenario.workload);
  demand.load = load_of(scenario.workload, demand.knob);
  demand.requests = scenario.workload.num_prompts.value_or(0);
  const auto source = make_source(scenario.workload, scenario.seed);
  const std::int64_t cached = cached_tokens(scenario);
  std::vector<std::int64_t> inputs, outputs;
  double contexts = 0.0, steps = 0.0;
  Time last;
  std::int64_t longest = 0;
  bool shared = false;
  while (const std::optional<RequestSpec> request = source->next()) {
    const std::int64_t input = request->input.count(), output = request->output.count();
    shared = shared || (request->content && cached == 0);
    inputs.push_back(std::max<std::int64_t>(1, input - cached));
    outputs.push_back(output);
    const auto decodes = static_cast<double>(output - 1);
    contexts += decodes * (static_cast<double>(input) + static_cast<double>(output + 1) / 2);
    steps += decodes;
    longest = std::max(longest, input + output);
    last = request->arrival;
    if (static_cast<std::int64_t>(inputs.size()) == sample_size) break;
  }
  if (inputs.empty()) throw ConfigError("plan: the workload has no requests");
  const auto count = static_cast<double>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    demand.mean_input += static_cast<double>(inputs[i]) / count;
    demand.mean_output += static_cast<double>(outputs[i]) / count;
  }
  demand.mean_context = steps > 0 ? contexts / steps : demand.mean_input;
  demand.tail_input = quantile(inputs, share_of(scenario.slo));
  demand.tail_output = quantile(outputs, share_of(scenario.slo));
  demand.longest = Tokens{longest};
  if (shared) demand.mean_input = 1.0, demand.tail_input = Tokens{1};  // a trace that repeats itself: how much is cached is not known
  if (demand.requests == 0) demand.requests = static_cast<std::int64_t>(inputs.size());
  if (demand.knob == LoadKnob::request_rate) demand.request_rate = demand.load;
  else if (demand.knob == LoadKnob::rate_factor && last.seconds() > 0) demand.request_rate = count / last.seconds();
  return demand;
}

WorkloadConfig at_load(const WorkloadConfig& workload, LoadKnob knob, double load) {
  WorkloadConfig scaled = workload;
  switch (knob) {
    case LoadKnob::request_rate: scaled.arrival->request_rate = RequestsPerSecond{load}; break;
    case LoadKnob::max_concurrency: scaled.max_concurrency = static_cast<std::int64_t>(load); break;
    case LoadKnob::rate_factor:
      if (!scaled.arrival) {
        scaled.trace->rate_scale *= load;
        break;
      }
      for (RequestsPerSecond& rate : scaled.arrival->rates) rate = rate * load;
      scaled.arrival->ramp_up_start_rps = scaled.arrival->ramp_up_start_rps * load;
      scaled.arrival->ramp_up_end_rps = scaled.arrival->ramp_up_end_rps * load;
      break;
  }
  return scaled;
}

std::string load_text(LoadKnob knob, double load) {
  switch (knob) {
    case LoadKnob::request_rate: return figure(load) + " requests/s";
    case LoadKnob::rate_factor: return figure(load) + " x the workload's own rate";
    case LoadKnob::max_concurrency: return figure(load) + " requests in flight";
  }
  throw InternalError("a load knob of an unknown kind");
}

}  // namespace ridgeline
