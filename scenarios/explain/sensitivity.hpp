// What ten per cent more of each resource would change: the bars of a tornado chart, each by simulation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/explain/what_if.hpp"
#include "scenarios/study/estimate.hpp"
#include "scenarios/study/metric.hpp"

namespace ridgeline {

/// One figure under a change, against the unchanged scenario on the same requests.
struct Shift {
  Estimate difference;   ///< changed - unchanged, paired by seed
  double relative = 0;   ///< of the unchanged mean; 0 where that is 0
};

struct SensitivityRow {
  Resource resource = Resource::memory_bandwidth;
  std::vector<std::optional<Shift>> shifts;  ///< by Sensitivity::metrics; absent: the runs have no such figure
  std::string failure;                       ///< why the changed scenario can't run; empty when it can
  /// The largest relative change of all figures.
  [[nodiscard]] double reach() const;
};

struct Sensitivity {
  double factor = 1.1;
  std::size_t replications = 0;
  bool seeds_matter = true;            ///< false: the workload is the same under every seed, so half-widths say nothing
  std::vector<const Metric*> metrics;  ///< goodput, p99 TTFT, p99 TPOT, dollars per million output tokens
  std::vector<std::optional<double>> unchanged;  ///< their means
  std::vector<SensitivityRow> rows;    ///< the furthest-reaching first; resources that nothing feels are left out
  std::vector<std::string> notes;
};

/// `replications` seeds each for the scenario and for every resource, on `jobs` threads.
Sensitivity sensitivity(const Scenario& scenario, std::size_t replications, std::size_t jobs,
                        const std::function<void(std::size_t)>& done = {});

/// How many runs that will be.
std::size_t sensitivity_runs(const Scenario& scenario, std::size_t replications);

}  // namespace ridgeline
