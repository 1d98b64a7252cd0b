// The three questions behind `plan` (plan.hpp), each a function of its own.
#pragma once

#include <utility>

#include "scenarios/plan/configuration.hpp"
#include "scenarios/plan/evaluate.hpp"
#include "scenarios/plan/plan_request.hpp"
#include "scenarios/plan/plan_result.hpp"

namespace ridgeline {

/// The highest load `scenario` serves within its objective, searched per replication on the same requests at every load.
MaxRatePlan max_rate(const Scenario& scenario, const PlanRequest& request, Evaluator& evaluator);

/// An answer and the fleet it chose, as replicas (spares included) of configurations; empty when it chose none.
struct ChosenFleet {
  CheapestFleetPlan plan;
  std::vector<std::pair<const Configuration*, int>> fleet;
};

/// The cheapest fleet of `candidates` for the workload they share.
ChosenFleet cheapest_fleet(const std::vector<Configuration>& candidates, const PlanRequest& request, Evaluator& evaluator);

/// Closed loops of rising concurrency on every candidate.
ParetoPlan pareto(const std::vector<Configuration>& candidates, const PlanRequest& request, Evaluator& evaluator);

/// "no configuration fits", with the numbers that would: what all refused candidates' messages say, each once.
[[noreturn]] void throw_nothing_fits(const std::vector<Configuration>& candidates);

}  // namespace ridgeline
