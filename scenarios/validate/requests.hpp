// Per-request logs, replayed: arrivals and lengths from the log, fleet and engine from a scenario.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/load/scenario.hpp"
#include "scenarios/validate/figures.hpp"
#include "scenarios/validate/request_log.hpp"

namespace ridgeline {

/// What the simulation says of a logged request. Milliseconds from the send.
struct ReplayedRequest {
  LoggedRequest logged;
  double ttft = 0.0;
  double e2e = 0.0;
};

/// One log beside its simulation.
struct ReplayedLog {
  std::string file;
  std::string label;
  bool saturated = false;  ///< the simulated queue still grew at the end
  std::vector<ReplayedRequest> requests;
};

/// Quantiles at which the distributions are compared.
const std::vector<double>& compared_quantiles();

/// Runs the scenario with the log's requests, each sent when it was sent, in place of the scenario's own. `client_overhead` is what lies between
/// client and engine (HTTP, chat template, tokenisation, the way back): the same for every request, it adds to TTFT and E2E.
ReplayedLog replay(const RequestLogFile& log, const Scenario& scenario, Duration client_overhead = {});

/// One figure per metric (ttft, tpot, e2e) and quantile: metric "ttft" at p50 …, so that a group's median and p90 are those of the
/// quantiles' errors; beside them "ttft_median" and the like, the p50 alone.
FigureValidation quantile_figures(const std::vector<ReplayedLog>& logs, const Scenario& scenario);

/// The requests whose E2E is off most, worst first.
std::vector<ReplayedRequest> worst_requests(const ReplayedLog& log, std::size_t count);

}  // namespace ridgeline
