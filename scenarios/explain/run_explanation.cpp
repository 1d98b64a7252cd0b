#include "scenarios/explain/run_explanation.hpp"

namespace ridgeline {

RunExplanation explain_run(const Scenario& scenario, const ExplainOptions& options) {
  const std::size_t draws = uncertain_prices(scenario).empty() ? 0 : options.draws;
  const std::size_t total = 1 + sensitivity_runs(scenario, options.replications) + draws;
  const auto after = [&](std::size_t before) {
    return [&options, before, total](std::size_t done) {
      if (options.progress) options.progress(before + done, total);
    };
  };
  RunExplanation explanation{.label = {}, .scenario = scenario, .result = {}, .breakdown = {}, .sensitivity = {}, .uncertainty = {}};
  explanation.breakdown = break_down(scenario, explanation.result);
  after(0)(1);
  if (options.replications > 0) explanation.sensitivity = sensitivity(scenario, options.replications, options.jobs, after(1));
  if (options.draws > 0) explanation.uncertainty = uncertainty(scenario, explanation.result, options.draws, options.jobs, after(total - draws));
  return explanation;
}

}  // namespace ridgeline
