#include "hardware/gpu.hpp"

#include <utility>

#include "hardware/catalog_text.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

std::span<const EmbeddedFile> gpu_catalog();

namespace {

constexpr std::array<std::pair<std::string_view, LinkKind>, 3> link_kinds{
    {{"nvlink", LinkKind::nvlink}, {"infinity_fabric", LinkKind::infinity_fabric}, {"pcie", LinkKind::pcie}}};
constexpr std::array math_types{DType::fp32, DType::fp16, DType::bf16, DType::fp8, DType::int8, DType::fp4, DType::int4};

GpuLink read_link(const Config& node, Diagnostics& errors) {
  MapReader map(node, errors);
  GpuLink link;
  const std::string kind = map.choice("kind", "pcie", {"nvlink", "infinity_fabric", "pcie"});
  for (const auto& [name, value] : link_kinds) {
    if (name == kind) link.kind = value;
  }
  link.generation = map.get<int>("generation", 0, non_negative);
  link.per_gpu = map.require<BytesPerSecond>("per_gpu", positive);
  link.per_pair = map.get<BytesPerSecond>("per_pair", link.per_gpu, positive);
  link.domain = map.get<int>("domain", 1, at_least_one);
  map.done();
  return link;
}

GpuPrice read_price(const Config& node, Diagnostics& errors) {
  MapReader map(node, errors);
  GpuPrice price;
  price.per_gpu_hour = map.require<DollarsPerHour>("per_gpu_hour", non_negative);
  price.date = map.require<std::string>("date");
  price.source = map.require<std::string>("source");
  map.done();
  return price;
}

void read_peaks(const Config& node, Diagnostics& errors, GpuSpec& gpu) {
  MapReader map(node, errors);
  for (const DType type : math_types) {
    if (const auto rate = map.maybe<FlopsPerSecond>(to_string(type), positive)) gpu.set_peak(type, *rate);
  }
  if (!gpu.supports(DType::fp16)) map.mistake("fp16", "a 16-bit peak is needed: give `fp16` (and `bf16` where the GPU has it)");
  map.done();
}

}  // namespace

std::string_view to_string(LinkKind kind) {
  for (const auto& [name, value] : link_kinds) {
    if (value == kind) return name;
  }
  return "?";
}

GpuSpec read_gpu(const Config& node, const std::string& name) {
  Diagnostics errors;
  MapReader map(node, errors);
  GpuSpec gpu;
  gpu.name = map.get<std::string>("name", name);
  gpu.vendor = map.require<std::string>("vendor");
  gpu.architecture = map.require<std::string>("architecture");
  gpu.compute_capability = map.get<int>("compute_capability", 0, non_negative);
  if (const auto peaks = map.require_child("peaks")) read_peaks(*peaks, errors, gpu);
  gpu.memory_visible = map.require<Bytes>("memory_visible", positive);
  gpu.memory_marketing = map.get<Bytes>("memory_marketing", gpu.memory_visible, positive);
  gpu.memory_bandwidth = map.require<BytesPerSecond>("memory_bandwidth", positive);
  gpu.l2 = map.require<Bytes>("l2", positive);
  gpu.sm_count = map.require<int>("sm_count", at_least_one);
  gpu.boost_mhz = map.require<std::int64_t>("boost_mhz", at_least_one);
  if (const auto link = map.require_child("link")) gpu.link = read_link(*link, errors);
  gpu.host_link = map.require<BytesPerSecond>("host_link", positive);
  gpu.tdp = map.require<Watts>("tdp", positive);
  gpu.idle = map.require<Watts>("idle", non_negative);
  if (const auto price = map.child("price")) gpu.price = read_price(*price, errors);
  gpu.default_node = map.get<std::string>("default_node", "");
  gpu.sources = map.list<std::string>("sources");
  map.done();
  errors.throw_if_any();
  return gpu;
}

GpuSpec load_gpu(const std::string& name_or_path) {
  static CatalogEntries<GpuSpec> catalog(gpu_catalog());
  if (const auto index = catalog.find(name_or_path)) return catalog.at(*index, read_gpu);
  const CatalogEntry entry = find_catalog_entry(gpu_catalog(), name_or_path, "GPU");
  return read_gpu(entry.node, entry.name);
}

std::vector<std::string> gpu_names() { return catalog_names(gpu_catalog()); }

}  // namespace ridgeline
