#include "hardware/calibration.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "hardware/catalog_text.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

std::span<const EmbeddedFile> calibration_catalog();

namespace {

/// Reads one family: {source, rows, error, parameters}. The GPU's own file, hence `fitted`.
template <class Parameters, class Read>
void read_family(MapReader& file, std::string_view key, const std::string& gpu, std::optional<Calibrated<Parameters>>& out, Read read) {
  const auto node = file.child(key);
  if (!node) return;
  MapReader map(*node, file.errors());
  Calibrated<Parameters> family;
  family.provenance = Provenance::fitted;
  family.gpu = gpu;
  family.source = map.require<std::string>("source");
  map.maybe<std::int64_t>("rows", at_least_one);
  family.error = map.require<double>("error", positive_fraction);
  if (const auto parameters = map.require_child("parameters")) {
    MapReader inner(*parameters, file.errors());
    family.parameters = read(inner);
    inner.done();
  }
  map.done();
  out = std::move(family);
}

Calibration read_calibration(const Config& node, const std::string& name) {
  Diagnostics errors;
  MapReader file(node, errors);
  Calibration calibration;
  calibration.gpu = file.get<std::string>("gpu", name);
  const std::string& gpu = calibration.gpu;
  read_family(file, "gemm", gpu, calibration.gemm, read_gemm_parameters);
  read_family(file, "gemm_2023", gpu, calibration.gemm_2023, read_gemm_parameters);
  read_family(file, "gemm_fp8", gpu, calibration.gemm_fp8, read_gemm_parameters);
  read_family(file, "gemm_fp8_block", gpu, calibration.gemm_fp8_block, read_gemm_parameters);
  read_family(file, "gemm_fp4", gpu, calibration.gemm_fp4, read_gemm_parameters);
  read_family(file, "quantise_input_fp8", gpu, calibration.quantise_input_fp8, read_quantise_input_parameters);
  read_family(file, "quantise_input_fp8_block", gpu, calibration.quantise_input_fp8_block, read_quantise_input_parameters);
  read_family(file, "quantise_input_fp4", gpu, calibration.quantise_input_fp4, read_quantise_input_parameters);
  read_family(file, "moe", gpu, calibration.moe, read_moe_parameters);
  read_family(file, "moe_fp8", gpu, calibration.moe_fp8, read_moe_parameters);
  read_family(file, "moe_fp8_block", gpu, calibration.moe_fp8_block, read_moe_parameters);
  read_family(file, "moe_fp4", gpu, calibration.moe_fp4, read_moe_parameters);
  read_family(file, "attention_decode", gpu, calibration.attention_decode, read_attention_decode_parameters);
  read_family(file, "attention_decode_kv8", gpu, calibration.attention_decode_kv8, read_attention_decode_parameters);
  read_family(file, "attention_prefill", gpu, calibration.attention_prefill, read_attention_prefill_parameters);
  read_family(file, "elementwise", gpu, calibration.elementwise, read_elementwise_parameters);
  read_family(file, "elementwise_unfused", gpu, calibration.elementwise_unfused, read_elementwise_parameters);
  read_family(file, "collective", gpu, calibration.collective, read_collective_parameters);
  file.done();
  errors.throw_if_any();
  return calibration;
}

struct Kin {
  std::string_view architecture;
  std::array<std::string_view, 4> relatives;  // nearest first
};

// Who runs the same kernels: FA2 and mma.sync GEMMs on everything before Hopper and on the workstation cards after it.
constexpr std::array<Kin, 9> kins{{
    {"volta", {"turing", "ampere"}},
    {"turing", {"ampere"}},
    {"ampere", {"ada"}},
    {"ada", {"blackwell-consumer", "ampere"}},
    {"blackwell-consumer", {"ada", "ampere"}},
    {"hopper", {"blackwell"}},
    {"blackwell", {"hopper"}},
    {"cdna3", {"hopper"}},
    {"cdna4", {"cdna3", "hopper"}},
}};

constexpr int unrelated = 9;

/// How far `relative` is from `architecture`: 0 the same, 1 the nearest relative, and so on.
int distance(const std::string& architecture, const std::string& relative) {
  if (architecture == relative) return 0;
  for (const Kin& kin : kins) {
    if (kin.architecture != architecture) continue;
    const auto found = std::find(kin.relatives.begin(), kin.relatives.end(), relative);
    if (found != kin.relatives.end()) return 1 + static_cast<int>(found - kin.relatives.begin());
  }
  return unrelated;
}

int link_distance(const GpuLink& a, const GpuLink& b) {
  const int generations = std::abs(a.generation - b.generation);
  return (a.kind == b.kind ? 0 : 5) + std::min(generations, 4);
}

/// A relative's error is larger: by half within an architecture, by much more beyond it (see docs/accuracy.md).
double inherited_error(double error, int how_far) { return std::min(error * 1.5 + 0.08 * how_far, datasheet_error); }

const Calibration* catalog_calibration(const std::string& gpu) {
  static CatalogEntries<Calibration> catalog(calibration_catalog());
  const auto index = catalog.find(gpu);
  return index ? &catalog.at(*index, read_calibration) : nullptr;
}

/// A GPU with a calibration of its own, which is read only when a family is taken from it.
struct Relative {
  GpuSpec gpu;
  std::string_view text;  ///< of the calibration

  [[nodiscard]] bool has(std::string_view section) const { return text.find("\n" + std::string(section) + ":\n") != std::string_view::npos; }
};

std::vector<Relative> relatives_of(const GpuSpec& gpu) {
  std::vector<Relative> relatives;
  for (const EmbeddedFile& file : calibration_catalog()) {
    if (file.name != gpu.name) relatives.push_back({load_gpu(std::string(file.name)), file.text});
  }
  std::sort(relatives.begin(), relatives.end(), [](const Relative& a, const Relative& b) { return a.gpu.name < b.gpu.name; });
  return relatives;
}

/// Fills `family` of `calibration` from the nearest relative that has this section.
template <class Family, class Distance>
void inherit(std::optional<Family> Calibration::* family, std::string_view section, Calibration& calibration,
             const std::vector<Relative>& relatives, int most_distance, Distance distance_to) {
  if (calibration.*family) return;
  const Relative* nearest = nullptr;
  int nearest_distance = most_distance + 1;
  for (const Relative& relative : relatives) {
    const int how_far = distance_to(relative.gpu);
    if (how_far >= nearest_distance || !relative.has(section)) continue;
    nearest_distance = how_far;
    nearest = &relative;
  }
  if (nearest == nullptr) return;
  calibration.*family = catalog_calibration(nearest->gpu.name)->*family;
  (calibration.*family)->provenance = Provenance::family;
  (calibration.*family)->error = inherited_error((calibration.*family)->error, nearest_distance);
}

/// Calls `visit` with every family: pointer to member, section of the YAML, and the kind of kinship it goes by.
enum class Kinship : std::uint8_t { architecture, any_architecture, link };

template <class Visit>
void for_each_family(Visit visit) {
  visit(&Calibration::gemm, "gemm", Kinship::architecture);
  visit(&Calibration::gemm_2023, "gemm_2023", Kinship::architecture);
  visit(&Calibration::gemm_fp8, "gemm_fp8", Kinship::architecture);
  visit(&Calibration::gemm_fp8_block, "gemm_fp8_block", Kinship::architecture);
  visit(&Calibration::gemm_fp4, "gemm_fp4", Kinship::architecture);
  visit(&Calibration::quantise_input_fp8, "quantise_input_fp8", Kinship::architecture);
  visit(&Calibration::quantise_input_fp8_block, "quantise_input_fp8_block", Kinship::architecture);
  visit(&Calibration::quantise_input_fp4, "quantise_input_fp4", Kinship::architecture);
  visit(&Calibration::moe, "moe", Kinship::architecture);
  visit(&Calibration::moe_fp8, "moe_fp8", Kinship::architecture);
  visit(&Calibration::moe_fp8_block, "moe_fp8_block", Kinship::architecture);
  visit(&Calibration::moe_fp4, "moe_fp4", Kinship::architecture);
  visit(&Calibration::attention_decode, "attention_decode", Kinship::architecture);
  visit(&Calibration::attention_decode_kv8, "attention_decode_kv8", Kinship::architecture);
  visit(&Calibration::attention_prefill, "attention_prefill", Kinship::architecture);
  // Fused kernels were measured on one GPU only; bandwidth decides their price, hence any relative will do.
  visit(&Calibration::elementwise, "elementwise", Kinship::any_architecture);
  visit(&Calibration::elementwise_unfused, "elementwise_unfused", Kinship::any_architecture);
  visit(&Calibration::collective, "collective", Kinship::link);
}

Calibration complete(Calibration calibration, const GpuSpec& gpu) {
  const std::vector<Relative> relatives = relatives_of(gpu);
  for_each_family([&](auto family, std::string_view section, Kinship kinship) {
    const int most = kinship == Kinship::architecture ? unrelated - 1 : unrelated;
    inherit(family, section, calibration, relatives, most, [&](const GpuSpec& relative) {
      return kinship == Kinship::link ? link_distance(gpu.link, relative.link) : distance(gpu.architecture, relative.architecture);
    });
  });
  return calibration;
}

}  // namespace

std::vector<std::string> calibration_names() { return catalog_names(calibration_catalog()); }

Calibration datasheet_calibration(const GpuSpec& gpu) {
  Calibration calibration;
  calibration.gpu = gpu.name;
  return calibration;
}

Calibration load_calibration(const GpuSpec& gpu) {
  const Calibration* own = catalog_calibration(gpu.name);
  return complete(own != nullptr ? *own : datasheet_calibration(gpu), gpu);
}

Calibration load_calibration(const GpuSpec& gpu, const std::string& path) {
  const Calibration catalog = load_calibration(gpu);
  Calibration own = read_calibration(Config::load(path), gpu.name);
  for_each_family([&](auto family, std::string_view, Kinship) {
    if (!(own.*family)) own.*family = catalog.*family;
  });
  own.gpu = gpu.name;
  return own;
}

}  // namespace ridgeline
