// A plan's answer for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "scenarios/plan/plan_result.hpp"

namespace ridgeline {

std::string plan_text(const PlanResult& result);
nlohmann::ordered_json plan_json(const PlanResult& result);

/// "TTFT <= 500 ms, TPOT <= 30 ms at p99"; "none".
std::string slo_text(const Slo& slo);
/// "226 ± 12"; without an interval where there is one sample, or where seeds make no difference (fixed lengths in a closed loop).
std::string with_interval(const Estimate& value);

/// The chosen scenario as YAML with a comment that says where it comes from. The result must have one.
std::string chosen_yaml(const PlanResult& result);

}  // namespace ridgeline
