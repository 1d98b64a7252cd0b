#include "scenarios/plan/plan.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "scenarios/load/load_scenario.hpp"
#include "scenarios/load/reading.hpp"
#include "scenarios/plan/goals.hpp"

namespace ridgeline {

namespace {

Config scalar(const std::string& text) { return Config::make_scalar(text, {}, ""); }

Config without(const Config& document, const std::string& dropped) {
  Config rest = Config::make_map(document.where(), "");
  for (const auto& [key, node] : document.entries()) {
    if (key != dropped) rest = rest.with(key, node);
  }
  return rest;
}

// Keys that the question answers by itself, so that a scenario for `plan` needs few.
Config with_defaults(Config document, const PlanRequest& request, std::vector<std::string>& notes) {
  const auto workload = document.find("workload");
  if (workload && workload->is_map()) {
    const bool ends = workload->find("num_prompts") || workload->find("duration") || workload->find("trace");
    const auto arrival = workload->find("arrival");
    const bool steps = arrival && arrival->is_map() && arrival->find("rates");
    if (!ends && !steps) document = document.with("workload.num_prompts", scalar("5000"));
    // Pareto points state their own; the loader wants to know how requests arrive all the same.
    const bool arrives = arrival || workload->find("request_rate") || workload->find("trace") || workload->find("max_concurrency");
    if (request.goal == PlanGoal::pareto && !arrives) document = document.with("workload.max_concurrency", scalar("1"));
  }
  const auto slo = document.find("slo");
  if (slo && slo->is_map() && !slo->find("percentile") && !slo->find("goodput")) {
    document = document.with("slo.percentile", scalar("99"));
    notes.push_back("`slo.percentile` is not given: p99 of each metric must keep its limit");
  }
  if (request.mixed && !document.find("router")) {
    document = document.with("router", scalar("least-outstanding"));
    notes.push_back("`router` is not given: mixed fleets are tried with `least-outstanding`");
  }
  return document;
}

// One warning a place and message, however many fleets earned it.
void add_warnings(const std::vector<Diagnostic>& warnings, PlanResult& result, std::set<std::string>& seen) {
  for (const Diagnostic& warning : warnings) {
    if (seen.insert(to_string({warning.where, "", warning.message})).second) result.warnings.push_back(warning);
  }
}

void describe_scenario(const Scenario& scenario, PlanResult& result) {
  result.name = scenario.name;
  result.seed = scenario.seed;
  result.slo = scenario.slo;
  result.workload = describe(scenario.workload);
}

// The description without how requests arrive, which the points of a front state themselves.
std::string lengths_of(const std::string& described) {
  const std::size_t lengths = described.find("input tokens"), loop = described.rfind(", ");
  return lengths == std::string::npos || loop <= lengths ? described : described.substr(lengths, loop - lengths);
}

// Files named beside the scenario are found from wherever the chosen one is written.
Config with_whole_paths(Config document) {
  const auto anchor = [&](const std::string& path, const std::optional<Config>& node, bool is_file) {
    if (node && node->is_scalar() && is_file) document = document.with(path, Config::make_scalar(find_file(node->scalar(), node->where()), node->where(), path));
  };
  const auto is_path = [](const std::optional<Config>& node) { return node && node->is_scalar() && looks_like_path(node->scalar(), {".json", ".yaml", ".yml"}); };
  anchor("model", document.find("model"), is_path(document.find("model")));
  if (const auto trace = document.find("workload")->find("trace")) {
    anchor(trace->is_map() ? "workload.trace.file" : "workload.trace", trace->is_map() ? trace->find("file") : trace, true);
  }
  if (const auto cost = document.find("cost"); cost && cost->is_map()) anchor("cost.table", cost->find("table"), true);
  if (const auto fleet = document.find("fleet"); fleet && fleet->is_sequence()) {
    for (std::size_t i = 0; i < fleet->size(); ++i) {
      for (const char* key : {"model", "gpu", "node", "calibration"}) {
        const auto node = fleet->at(i).find(key);
        anchor(fmt::format("fleet[{}].{}", i, key), node, is_path(node));
      }
    }
  }
  return document;
}

Config chosen_document(const Config& document, const std::vector<std::pair<const Configuration*, int>>& fleet) {
  std::string slots = "[null";
  for (std::size_t i = 1; i < fleet.size(); ++i) slots += ", null";
  Config chosen = document.with("fleet", Config::parse(slots + "]", ""));
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto& [configuration, replicas] = fleet[i];
    chosen = chosen.with(fmt::format("fleet[{}]", i), configuration->pool).with(fmt::format("fleet[{}].replicas", i), scalar(std::to_string(replicas)));
  }
  return chosen;
}

// The document's workload at the answered load; none for ramps and steps, which have several rates.
std::optional<Config> at_answer(const Config& document, const WorkloadConfig& workload, const MaxRatePlan& plan) {
  const Config written = *document.find("workload");
  if (plan.demand.knob == LoadKnob::max_concurrency) return document.with("workload.max_concurrency", scalar(fmt::format("{:.0f}", plan.load->mean)));
  if (plan.demand.knob == LoadKnob::rate_factor) {
    if (!workload.trace || workload.arrival) return std::nullopt;
    const Config trace = *written.find("trace");
    const Config scale = scalar(fmt::format("{:.6g}", plan.load->mean * workload.trace->rate_scale));
    return (trace.is_map() ? document : document.with("workload.trace", Config::make_map({}, "").with("file", trace))).with("workload.trace.rate_scale", scale);
  }
  if (workload.arrival->process == ArrivalConfig::Process::steps) return std::nullopt;
  const auto arrival = written.find("arrival");
  return document.with(arrival && arrival->is_map() ? "workload.arrival.request_rate" : "workload.request_rate", scalar(fmt::format("{:.6g}", plan.load->mean)));
}

}  // namespace

PlanResult plan(const Config& whole, const PlanOptions& options) {
  Diagnostics errors;
  const PlanRequest request = read_plan(whole, errors);
  errors.throw_if_any();
  PlanResult result{.replications = request.replications};
  const Config document = with_defaults(without(whole, "plan"), request, result.notes);
  Evaluator evaluator(static_cast<std::size_t>(request.replications), options);
  std::set<std::string> seen;
  if (request.goal == PlanGoal::max_rate) {
    const Scenario scenario = resolve_scenario(document);
    describe_scenario(scenario, result);
    add_warnings(scenario.warnings, result, seen);
    MaxRatePlan answer = max_rate(scenario, request, evaluator);
    if (answer.load) result.chosen = at_answer(document, scenario.workload, answer);
    if (result.chosen) result.chosen = with_whole_paths(*result.chosen);
    result.answer = std::move(answer);
    return result;
  }
  const std::vector<Configuration> candidates = configurations(document, request);
  for (const Configuration& candidate : candidates) {
    if (candidate.refusal != Refusal::none) continue;
    if (result.workload.empty()) describe_scenario(candidate.scenario, result);
    add_warnings(candidate.scenario.warnings, result, seen);
  }
  if (request.goal == PlanGoal::pareto) {
    result.workload = lengths_of(result.workload) + ", closed loops";
    result.answer = pareto(candidates, request, evaluator);
    return result;
  }
  ChosenFleet answer = cheapest_fleet(candidates, request, evaluator);
  if (!answer.fleet.empty()) result.chosen = with_whole_paths(chosen_document(document, answer.fleet));
  result.answer = std::move(answer.plan);
  return result;
}

void throw_nothing_fits(const std::vector<Configuration>& candidates) {
  Diagnostics errors;
  std::set<std::string> seen;
  for (const Configuration& candidate : candidates) {
    for (const Diagnostic& why : candidate.why) {
      if (seen.insert(why.message).second) errors.add({why.where, why.key, fmt::format("{}: {}", candidate.label, why.message)});
    }
  }
  errors.throw_if_any();
  throw ConfigError("plan: there is no configuration to try");
}

}  // namespace ridgeline
