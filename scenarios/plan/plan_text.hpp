// A plan's answer for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "scenarios/plan/plan_result.hpp"

namespace ridgeline {

std::string plan_text(const PlanResult& result);
nlohmann::ordered_json plan_json(const PlanResult& result);

/// The chosen scenario as YAML with a comment that says where it comes from. The result must have one.
std::string chosen_yaml(const PlanResult& result);

}  // namespace ridgeline
