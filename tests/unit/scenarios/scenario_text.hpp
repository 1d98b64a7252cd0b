// Scenario texts for tests: parsed from memory as if they were files.
#pragma once

#include <string>
#include <vector>

#include "scenarios/load/expand.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "sim/base/error.hpp"

namespace ridgeline::test {

inline Scenario scenario_from(const std::string& yaml) { return resolve_scenario(Config::parse(yaml, "test.yaml")); }

/// The mistakes of a document as printed, one a line; empty when it has none.
inline std::string mistakes_in(const std::string& yaml) {
  try {
    for (const ScenarioPoint& point : expand(Config::parse(yaml, "test.yaml"))) (void)resolve_scenario(point.document);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// One replica that needs neither GPU nor model: every step takes a millisecond.
inline std::string constant_cost(const std::string& more = "", const std::string& workload = "{arrival: all_at_once, num_prompts: 4, input_tokens: 32, output_tokens: 8}") {
  return "engine: {max_model_len: 4096, num_gpu_blocks_override: 100, max_num_seqs: 8, async_scheduling: false}\n"
         "fleet: [{replicas: 1}]\n"
         "cost: {model: constant, step_time: 1 ms}\n"
         "workload: " + workload + "\n" + more;
}

/// Llama-3.1-8B on one GPU.
inline std::string one_gpu(const std::string& gpu, const std::string& engine = "{}") {
  return "model: llama-3.1-8b\n"
         "fleet: [{gpu: " + gpu + ", engine: " + engine + "}]\n"
         "workload: {request_rate: 1, num_prompts: 10, input_tokens: 100, output_tokens: 10}\n";
}

}  // namespace ridgeline::test
