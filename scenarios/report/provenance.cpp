#include "scenarios/report/provenance.hpp"

#include "scenarios/build/price_families.hpp"

namespace ridgeline {

nlohmann::ordered_json provenance_json(const Scenario& scenario, const Pool& pool) {
  nlohmann::ordered_json json;
  for (const PriceFamily& family : price_families(scenario, pool)) {
    nlohmann::ordered_json& entry = json[family.name];
    entry["provenance"] = to_string(family.provenance);
    if (!family.gpu.empty()) entry["gpu"] = family.gpu;
    if (!family.source.empty()) entry["source"] = family.source;
    if (family.error > 0) entry["expected_error"] = family.error;
  }
  return json;
}

}  // namespace ridgeline
