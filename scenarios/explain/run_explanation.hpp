// A whole run explained: where its time went, what would change it, and how sure its figures are.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "scenarios/explain/breakdown.hpp"
#include "scenarios/explain/sensitivity.hpp"
#include "scenarios/explain/uncertainty.hpp"

namespace ridgeline {

struct RunExplanation {
  std::string label;  ///< of an alternative; empty when there is one scenario
  Scenario scenario;
  RunResult result;
  Breakdown breakdown;
  std::optional<Sensitivity> sensitivity;
  std::optional<Uncertainty> uncertainty;
};

struct ExplainOptions {
  std::size_t replications = 3;  ///< seeds a resource in `sensitivity`; 0 = leave it out
  std::size_t draws = 20;        ///< of `uncertainty`; 0 = leave it out
  std::size_t jobs = 1;
  /// Called with the runs done and the runs there will be. May be empty.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

RunExplanation explain_run(const Scenario& scenario, const ExplainOptions& options);

}  // namespace ridgeline
