// Answers of `plan`, plain: writers of text, JSON and reports read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "scenarios/plan/demand.hpp"
#include "scenarios/plan/evaluate.hpp"
#include "scenarios/plan/fleet_search.hpp"
#include "scenarios/plan/replica_bounds.hpp"
#include "scenarios/study/estimate.hpp"

namespace ridgeline {

/// The fleet at one load.
struct LoadPoint {
  double load = 0.0;
  double share = 0.0;  ///< of the answer
  FleetFigures figures;
};

/// The highest load that a fleet serves within the objective.
struct MaxRatePlan {
  std::string fleet;               ///< "2 x h100-sxm-80gb TP1"
  Demand demand;
  std::optional<Estimate> load;    ///< mean of the replications' knees; absent: not even the least load meets the objective
  std::vector<double> knees;       ///< by replication
  double bound = 0.0;              ///< what step prices alone allow at most
  std::string limit;               ///< what gives way just above: "TTFT p99 1.31 s"
  bool all_that_fits = false;      ///< closed loop: stopped by the KV memory, not by the objective
  std::vector<LoadPoint> points;   ///< around the answer
  ReplicaBounds alone;             ///< one request alone on the first pool
  std::int64_t simulations = 0;
};

/// One of the fleets found, or what is known of a kind of replica that is not among them.
struct FleetRow {
  std::string label;               ///< "4 x h100-sxm-80gb TP2 + 1 x l40s"
  int replicas = 0, spares = 0, gpus = 0;  ///< gpus: spares included
  double price = 0.0, price_low = 0.0, price_high = 0.0;  ///< USD/h, spares included
  double held = 0.0;               ///< longest requests whose KV the fleet holds at once
  ReplicaBounds alone;             ///< of the slowest kind of replica: one request that has it to itself
  std::optional<double> usd_per_million_output_tokens;    ///< spares included
  std::optional<double> watts;     ///< spares idle
  FleetFigures figures;            ///< of the planned period, spares down
  std::string smaller_fails;       ///< why one replica fewer is not enough
};

/// A kind of replica that can't serve, and why.
struct RuledOut {
  std::string label;
  std::string reason;  ///< "memory", "latency", "impossible"
  std::string detail;
};

struct CheapestFleetPlan {
  Demand demand;
  std::vector<FleetRow> rows;      ///< cheapest first; empty when nothing serves
  std::vector<RuledOut> ruled_out;
  std::int64_t configurations = 0; ///< kinds of replicas tried
  SearchCounts counts;             ///< fleets of those that were not ruled out
  std::int64_t ruled_out_points = 0;  ///< fleets of those that were
  std::vector<std::string> advice; ///< where nothing serves: what would help, with figures
  std::optional<FleetFigures> whole_workload;  ///< the cheapest under all of the workload, where only its busiest part was planned for
  std::optional<double> whole_usd_per_million, whole_watts;  ///< the same, spares included
  std::int64_t simulations = 0;
};

struct ParetoPoint {
  std::string label;
  int gpus = 0;
  std::int64_t concurrency = 0;
  Estimate tokens_per_user;        ///< output tokens per second and user: 1 / median TPOT
  Estimate output_per_gpu;         ///< output tokens per second and GPU
  Estimate total_per_gpu;          ///< input and output
  std::optional<double> usd_per_million_low, usd_per_million_high;  ///< output tokens
  FleetFigures figures;
  bool front = false;              ///< no other point is better in both
};

/// Who leads at one number of requests in flight.
struct ParetoLead {
  std::int64_t concurrency = 0;
  std::string throughput, latency;  ///< labels: most tokens per GPU, most tokens per user
};

struct ParetoPlan {
  Demand demand;
  std::vector<ParetoPoint> points;  ///< by configuration, then concurrency
  std::vector<ParetoLead> leads;    ///< where every configuration was tried
  std::vector<RuledOut> ruled_out;
  std::optional<std::size_t> recommended;  ///< point with most tokens per GPU that meets the objective and stays resident
  std::int64_t simulations = 0;
};

struct PlanResult {
  std::string name;
  std::uint64_t seed = 0;
  Slo slo;
  std::string workload;              ///< described
  std::int64_t replications = 0;
  std::variant<MaxRatePlan, CheapestFleetPlan, ParetoPlan> answer;
  std::optional<Config> chosen;      ///< a scenario ready to run: the cheapest fleet, or the fleet at its highest load
  std::vector<std::string> notes;    ///< assumptions made for the user
  std::vector<Diagnostic> warnings;
};

}  // namespace ridgeline
