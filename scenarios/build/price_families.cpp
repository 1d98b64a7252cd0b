#include "scenarios/build/price_families.hpp"

#include <algorithm>

#include "hardware/calibration.hpp"

namespace ridgeline {

namespace {

bool multiplies_in(const ModelSpec& model, DType math) {
  return std::any_of(model.formats.begin(), model.formats.end(), [&](const WeightFormat& format) { return format.math == math; });
}

template <class Parameters>
PriceFamily family(std::string name, const std::optional<Calibrated<Parameters>>& calibrated) {
  if (!calibrated) return {.name = std::move(name), .provenance = Provenance::datasheet, .gpu = {}, .source = {}, .error = datasheet_error};
  return {std::move(name), calibrated->provenance, calibrated->gpu, calibrated->source, calibrated->error};
}

std::string_view family_of(const GemmShape& shape) {
  if (shape.math == DType::fp4) return "gemm_fp4";
  return bits(shape.math) == 8 ? "gemm_fp8" : "gemm";
}
std::string_view family_of(const AttentionShape& shape) { return shape.chunks.empty() ? "attention_decode" : "attention_prefill"; }
std::string_view family_of(const ElementwiseShape&) { return "elementwise"; }
std::string_view family_of(const MoeShape&) { return "moe"; }
std::string_view family_of(const CollectiveShape&) { return "collective"; }

}  // namespace

std::vector<PriceFamily> price_families(const Scenario& scenario, const Pool& pool) {
  if (scenario.cost.kind == CostKind::constant) {
    return {{.name = "step", .provenance = Provenance::given, .gpu = {}, .source = {}, .error = 0.0}};
  }
  std::vector<PriceFamily> families;
  if (scenario.cost.kind == CostKind::table) {
    families.push_back({.name = "table", .provenance = Provenance::measured, .gpu = {}, .source = scenario.cost.table_file, .error = 0.0});
  }
  const Calibration calibration =
      pool.calibration == "auto" ? load_calibration(*pool.gpu) : load_calibration(*pool.gpu, pool.calibration);
  families.push_back(family("gemm", calibration.gemm));
  if (multiplies_in(*pool.model, DType::fp8) || multiplies_in(*pool.model, DType::int8)) families.push_back(family("gemm_fp8", calibration.gemm_fp8));
  if (multiplies_in(*pool.model, DType::fp4)) families.push_back(family("gemm_fp4", calibration.gemm_fp4));
  if (pool.model->moe) families.push_back(family("moe", calibration.moe));
  families.push_back(family("attention_decode", bits(pool.kv.type) == 8 ? calibration.attention_decode_kv8 : calibration.attention_decode));
  families.push_back(family("attention_prefill", calibration.attention_prefill));
  families.push_back(family("elementwise", calibration.elementwise));
  if (pool.tensor_parallel_size > 1) families.push_back(family("collective", calibration.collective));
  return families;
}

std::string_view price_family_of(const Op& op) {
  return std::visit([](const auto& shape) { return family_of(shape); }, op.shape);
}

}  // namespace ridgeline
