#include "scenarios/plan/plan_request.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "hardware/gpu.hpp"
#include "scenarios/load/reading.hpp"

namespace ridgeline {

namespace {

constexpr std::array<const char*, 3> goal_names{"max-rate", "cheapest-fleet", "pareto"};

// Keys that only one goal, or two of them, listen to.
struct GoalKeys {
  const char* key;
  std::array<bool, 3> of;  // by PlanGoal
};
constexpr GoalKeys goal_keys[] = {
    {"tolerance", {true, false, false}},      {"candidates", {false, true, true}},     {"availability", {false, true, false}},
    {"kv_margin", {false, true, false}},      {"top", {false, true, false}},           {"concurrency", {false, false, true}},
    {"gpus_per_fleet", {false, false, true}},
};

std::vector<Config> items_of(const Config& node) {
  std::vector<Config> items;
  if (!node.is_sequence()) return {node};
  for (std::size_t i = 0; i < node.size(); ++i) items.push_back(node.at(i));
  return items;
}

// A price, or the lowest and the highest one may have to pay.
void read_price(MapReader& reader, GpuOffer& offer) {
  const std::vector<DollarsPerHour> prices = reader.list<DollarsPerHour>("price_per_gpu_hour", non_negative);
  if (prices.empty()) return;
  if (prices.size() > 2 || prices.front() > prices.back()) {
    reader.mistake("price_per_gpu_hour", "expected a price like `2.99 USD/h`, or the lowest and the highest: [2.5 USD/h, 3.5 USD/h]");
    return;
  }
  offer.price_low = prices.front();
  offer.price_high = prices.back();
}

GpuOffer read_offer(const Config& node, Diagnostics& errors) {
  GpuOffer offer{.gpu = node};
  if (node.is_map()) {
    MapReader reader(node, errors);
    if (const auto gpu = reader.require_child("gpu")) offer.gpu = *gpu;
    offer.node = reader.child("node");
    offer.calibration = reader.child("calibration");
    offer.max_gpus = reader.maybe<int>("max_gpus", {1, 1e6});
    read_price(reader, offer);
    reader.done();
  }
  if (const auto name = read_value<std::string>(offer.gpu, errors)) {
    const std::string found = looks_like_path(*name, {".yaml", ".yml"}) ? find_file(*name, offer.gpu.where()) : *name;
    adopt_mistakes(errors, offer.gpu, [&] { (void)load_gpu(found); });
  }
  return offer;
}

void read_replicas(MapReader& reader, PlanRequest& request, Diagnostics& errors) {
  const auto node = reader.child("replicas");
  if (!node || node->is_null()) return;
  if (node->is_scalar()) {
    request.least_replicas = request.most_replicas = read_value<int>(*node, errors, {1, 10'000}).value_or(1);
    return;
  }
  MapReader range(*node, errors);
  request.least_replicas = range.get<int>("min", 1, {1, 10'000});
  request.most_replicas = range.get<int>("max", std::max(64, request.least_replicas), {1, 10'000});
  range.done();
  if (request.least_replicas > request.most_replicas) errors.add(node->mistake("`min` is above `max`"));
}

void read_candidates(const Config& node, PlanRequest& request, Diagnostics& errors) {
  MapReader reader(node, errors);
  if (!node.is_map()) return;
  if (const auto gpus = reader.child("gpus")) {
    for (const Config& item : items_of(*gpus)) request.gpus.push_back(read_offer(item, errors));
  }
  read_replicas(reader, request, errors);
  request.max_gpus = reader.maybe<int>("max_gpus", {1, 1e6});
  request.max_price = reader.maybe<DollarsPerHour>("max_price", positive);
  request.mixed = reader.get<bool>("mixed", false);
  // Everything else is an option of the engine, checked with the first fleet that is built of it.
  for (const auto& [key, values] : node.entries()) {
    if (reader.has(key) && (key == "gpus" || key == "replicas" || key == "max_gpus" || key == "max_price" || key == "mixed")) continue;
    if (values.is_sequence() && values.size() == 0) errors.add(values.mistake("expected a value or a list of values"));
    request.engine.emplace_back(key, items_of(values));
  }
}

std::optional<Availability> read_availability(MapReader& reader, Diagnostics& errors) {
  const auto node = reader.child("availability");
  if (!node || node->is_null()) return std::nullopt;
  MapReader map(*node, errors);
  Availability availability;
  availability.replica = map.require<double>("replica", positive_fraction);
  availability.fleet = map.require<double>("fleet", positive_fraction);
  map.done();
  if (availability.fleet >= 1.0 && availability.replica < 1.0) map.mistake("fleet", "no number of spares reaches 1 with replicas that fail");
  return availability;
}

PlanGoal settle_goal(MapReader& reader, const Config& document) {
  const std::string name = reader.choice("goal", "", {"max-rate", "cheapest-fleet", "pareto"});
  for (std::size_t i = 0; i < goal_names.size(); ++i) {
    if (name == goal_names[i]) return static_cast<PlanGoal>(i);
  }
  if (reader.has("concurrency")) return PlanGoal::pareto;
  return document.find("fleet") && !reader.has("candidates") ? PlanGoal::max_rate : PlanGoal::cheapest_fleet;
}

void refuse_keys_of_other_goals(MapReader& reader, PlanGoal goal) {
  for (const GoalKeys& row : goal_keys) {
    if (row.of[static_cast<std::size_t>(goal)] || !reader.child(row.key)) continue;
    std::string goals;
    for (std::size_t i = 0; i < goal_names.size(); ++i) {
      if (row.of[i]) goals += (goals.empty() ? "`" : " and `") + std::string(goal_names[i]) + "`";
    }
    reader.mistake(row.key, fmt::format("has no effect on the goal `{}`; it belongs to {}", to_string(goal), goals));
  }
}

}  // namespace

std::string to_string(PlanGoal goal) { return goal_names[static_cast<std::size_t>(goal)]; }

PlanRequest read_plan(const Config& document, Diagnostics& errors) {
  PlanRequest request;
  const auto written = document.find("plan");
  const Config section = written && !written->is_null() ? *written : Config::make_map(document.where(), "plan");
  request.where = section.where();
  MapReader reader(section, errors);
  if (!section.is_map()) return request;
  request.goal = settle_goal(reader, document);
  refuse_keys_of_other_goals(reader, request.goal);
  if (const auto candidates = reader.child("candidates"); candidates && !candidates->is_null()) read_candidates(*candidates, request, errors);
  request.availability = read_availability(reader, errors);
  request.kv_margin = reader.get<double>("kv_margin", request.kv_margin, {0.0, 10.0});
  request.top = reader.get<int>("top", request.top, {1, 1000});
  request.replications = reader.get<int>("replications", request.goal == PlanGoal::max_rate ? 5 : 3, {1, 1000});
  request.tolerance = reader.get<double>("tolerance", request.tolerance, {1e-4, 0.5});
  request.num_prompts = reader.maybe<std::int64_t>("num_prompts", {1, 1e9});
  request.concurrency = reader.list<std::int64_t>("concurrency", {1, 1e6});
  request.gpus_per_fleet = reader.maybe<int>("gpus_per_fleet", {1, 1e6});
  reader.done();
  if (request.goal == PlanGoal::max_rate) {
    if (!document.find("fleet")) errors.add(section.mistake("the goal `max-rate` asks what a fleet can do: `fleet:` is missing"));
  } else if (document.find("fleet")) {
    errors.add(document.find("fleet")->mistake(fmt::format("the goal `{}` chooses the fleet among `plan.candidates`; leave `fleet:` out",
                                                           to_string(request.goal))));
  }
  return request;
}

}  // namespace ridgeline
