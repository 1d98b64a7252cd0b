#include "hardware/node.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/catalog_text.hpp"
#include "sim/base/config.hpp"

namespace ridgeline {

std::span<const EmbeddedFile> node_catalog();

namespace {

constexpr std::array<std::pair<std::string_view, NodeTopology>, 4> topologies{{{"nvswitch", NodeTopology::nvswitch},
                                                                               {"mesh", NodeTopology::mesh},
                                                                               {"pairs", NodeTopology::pairs},
                                                                               {"pcie", NodeTopology::pcie}}};

}  // namespace

std::string_view to_string(NodeTopology topology) {
  for (const auto& [name, value] : topologies) {
    if (value == topology) return name;
  }
  return "?";
}

NodeType read_node(const Config& node, const std::string& name) {
  Diagnostics errors;
  MapReader map(node, errors);
  NodeType type;
  type.name = map.get<std::string>("name", name);
  type.gpus = map.list<std::string>("gpus");
  type.gpus_per_node = map.require<int>("gpus_per_node", at_least_one);
  const std::string topology = map.choice("topology", "pcie", {"nvswitch", "mesh", "pairs", "pcie"});
  for (const auto& [text, value] : topologies) {
    if (text == topology) type.topology = value;
  }
  type.in_switch_reduction = map.get<bool>("in_switch_reduction", false);
  type.peer_bandwidth = map.require<BytesPerSecond>("peer_bandwidth", positive);
  type.nics = map.get<int>("nics", 0, non_negative);
  type.nic_bandwidth = map.get<BytesPerSecond>("nic_bandwidth", BytesPerSecond{0.0}, positive);
  if (type.nics > 0 && type.nic_bandwidth.count() <= 0.0) map.mistake("nic_bandwidth", "needed because `nics` is above zero");
  type.nic_name = map.get<std::string>("nic", "");
  type.sources = map.list<std::string>("sources");
  map.done();
  errors.throw_if_any();
  return type;
}

NodeType load_node(const std::string& name_or_path) {
  const CatalogEntry entry = find_catalog_entry(node_catalog(), name_or_path, "node type");
  return read_node(entry.node, entry.name);
}

NodeType default_node(const GpuSpec& gpu) {
  if (!gpu.default_node.empty()) return load_node(gpu.default_node);
  NodeType alone;
  alone.name = gpu.name + " alone";
  alone.peer_bandwidth = gpu.host_link;
  return alone;
}

std::vector<std::string> node_names() { return catalog_names(node_catalog()); }

}  // namespace ridgeline
