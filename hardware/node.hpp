// A node: GPUs joined by a scale-up link, with network cards to the rest of the cluster. Catalog: hardware/catalog/nodes/NAME.yaml.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// How the GPUs inside a node are wired.
enum class NodeTopology : std::uint8_t {
  nvswitch,  ///< any pair at the GPU's full rate, all pairs at once
  mesh,      ///< every pair has its own link
  pairs,     ///< bridged pairs, PCIe between the pairs
  pcie,      ///< through the host only
};

std::string_view to_string(NodeTopology topology);

struct NodeType {
  std::string name;
  std::vector<std::string> gpus;       ///< catalog names it is built with; empty = any
  int gpus_per_node = 1;
  NodeTopology topology = NodeTopology::pcie;
  bool in_switch_reduction = false;    ///< NVLink SHARP (NVSwitch of the H100 generation and later)
  BytesPerSecond peer_bandwidth;       ///< between GPUs of a node where the GPU's own link does not reach; one direction
  int nics = 0;
  BytesPerSecond nic_bandwidth;        ///< of one NIC, one direction
  std::string nic_name;
  std::vector<std::string> sources;

  /// The share of the node's NICs that belongs to one GPU.
  [[nodiscard]] BytesPerSecond nic_bandwidth_per_gpu() const {
    return BytesPerSecond{nic_bandwidth.count() * nics / gpus_per_node};
  }
};

/// A catalog name or a YAML path, as load_gpu.
NodeType load_node(const std::string& name_or_path);

/// Reads one node type; `name` is used when the file gives none. Throws ConfigError with every mistake.
NodeType read_node(const Config& node, const std::string& name);

/// The node type `gpu` is usually sold in.
NodeType default_node(const GpuSpec& gpu);

/// Catalog names, sorted.
std::vector<std::string> node_names();

}  // namespace ridgeline
