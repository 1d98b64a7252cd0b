#include "scenarios/report/provenance.hpp"

#include <algorithm>
#include <string>

#include "hardware/calibration.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

template <class Parameters>
void put(Json& json, const std::string& family, const std::optional<Calibrated<Parameters>>& calibrated) {
  if (!calibrated) {
    json[family] = {{"provenance", to_string(Provenance::datasheet)}, {"expected_error", datasheet_error}};
    return;
  }
  json[family] = {{"provenance", to_string(calibrated->provenance)},
                  {"gpu", calibrated->gpu},
                  {"source", calibrated->source},
                  {"expected_error", calibrated->error}};
}

bool multiplies_in(const ModelSpec& model, DType math) {
  return std::any_of(model.formats.begin(), model.formats.end(), [&](const WeightFormat& format) { return format.math == math; });
}

}  // namespace

nlohmann::ordered_json provenance_json(const Scenario& scenario, const Pool& pool) {
  Json json;
  if (scenario.cost.kind == CostKind::constant) {
    json["step"] = {{"provenance", to_string(Provenance::given)}};
    return json;
  }
  if (scenario.cost.kind == CostKind::table) {
    json["table"] = {{"provenance", to_string(Provenance::measured)}, {"source", scenario.cost.table_file}};  // first; what follows fills its gaps
  }
  const Calibration calibration =
      pool.calibration == "auto" ? load_calibration(*pool.gpu) : load_calibration(*pool.gpu, pool.calibration);
  put(json, "gemm", calibration.gemm);
  if (multiplies_in(*pool.model, DType::fp8)) put(json, "gemm_fp8", calibration.gemm_fp8);
  if (multiplies_in(*pool.model, DType::fp4)) put(json, "gemm_fp4", calibration.gemm_fp4);
  if (pool.model->moe) put(json, "moe", calibration.moe);
  put(json, "attention_decode", bits(pool.kv.type) == 8 ? calibration.attention_decode_kv8 : calibration.attention_decode);
  put(json, "attention_prefill", calibration.attention_prefill);
  put(json, "elementwise", calibration.elementwise);
  if (pool.tensor_parallel_size > 1) put(json, "collective", calibration.collective);
  return json;
}

}  // namespace ridgeline
