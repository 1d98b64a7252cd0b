#include "scenarios/load/schedule_case.hpp"

#include <algorithm>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/engine_profiles.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

const EngineProfile& profile_of(const Config& config) {
  Diagnostics errors;
  MapReader reader(config, errors);
  const std::string engine = reader.require<std::string>("engine");
  const std::string age = reader.get<std::string>("profile", "main_2026");
  errors.throw_if_any();
  const std::string name = engine == "vllm_v1" ? age : engine;
  const EngineProfile* profile = find_engine_profile(name);
  if (profile == nullptr) throw ConfigError(config.mistake("unknown engine `" + name + "`"));
  return *profile;
}

// The case's names for what the scenario language calls otherwise.
std::string option_name(const std::string& key) {
  if (key == "speculation") return "speculative_config";
  if (key == "reserve_full_isl") return "scheduler_reserve_full_isl";
  return key;
}

Json engine_json(const Config& config, const EngineProfile& profile) {
  const auto has = [&](const std::string& option) {
    return std::find(profile.options.begin(), profile.options.end(), option) != profile.options.end();
  };
  Json engine;
  engine["profile"] = profile.name;
  if (has("async_scheduling")) engine["async_scheduling"] = false;  // the cases' default, unlike the engine's
  for (const auto& [key, value] : config.entries()) {
    if (key == "engine" || key == "profile" || key == "step_time_s" || key == "trace_block_size") continue;
    if (key == "max_num_batched_tokens" && !has(key)) continue;  // stated in every case, used by some engines
    engine[option_name(key)] = to_json(value);
  }
  return engine;
}

}  // namespace

Config schedule_case_document(const std::filesystem::path& folder) {
  const Config config = Config::load(folder / "config.json");
  if (!config.is_map()) throw ConfigError(config.mistake("expected a map of engine flags"));
  Diagnostics errors;
  MapReader reader(config, errors);
  const std::string step_time = reader.require<std::string>("step_time_s");
  errors.throw_if_any();
  Json json;
  json["name"] = folder.filename().string();
  json["engine"] = engine_json(config, profile_of(config));
  json["fleet"] = Json::array({Json{{"replicas", 1}}});
  json["workload"] = {{"trace", {{"file", std::filesystem::absolute(folder / "requests.csv").string()}, {"format", "ridgeline"}}}};
  json["cost"] = {{"model", "constant"}, {"step_time", step_time + " s"}};
  return to_config(json, (folder / "config.json").string());
}

}  // namespace ridgeline
