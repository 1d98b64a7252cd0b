#include "hardware/collective.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/config.hpp"

namespace ridgeline {

namespace {

/// Seconds of latency and of transfer.
struct Cost {
  double latency = 0.0;
  double transfer = 0.0;
  [[nodiscard]] double total() const { return latency + transfer; }
};

Cost cheaper(Cost a, Cost b) { return a.total() <= b.total() ? a : b; }

/// Everything about one call that the algorithms need, as plain numbers.
struct Call {
  const CollectiveParameters& p;
  double bytes;
  double ranks;
  double per_node;  ///< ranks on one node
  double rate;      ///< bytes/s of one rank inside the node
  double network;   ///< bytes/s of the NICs that one node's ranks use

  [[nodiscard]] double nodes() const { return std::ceil(ranks / per_node); }
  [[nodiscard]] bool crosses_nodes() const { return ranks > per_node; }
};

Cost protocol_cost(const CollectiveParameters::Protocol& protocol, double hops, double wire, double rate) {
  return {protocol.base.seconds() + protocol.hop.seconds() * hops, wire / (rate * protocol.efficiency)};
}

/// Traffic factor of a ring: an all-reduce goes round twice.
double rounds(CollectiveKind kind) { return kind == CollectiveKind::all_reduce ? 2.0 : 1.0; }

Cost nccl_ring(const Call& call, CollectiveKind kind) {
  const double c = rounds(kind);
  const double hops = c * (call.ranks - 1.0);
  const double wire = c * (call.ranks - 1.0) / call.ranks * call.bytes + call.p.local_copy * call.bytes / call.ranks;
  Cost best = protocol_cost(call.p.ll, hops, wire, call.rate);
  best = cheaper(best, protocol_cost(call.p.ll128, hops, wire, call.rate));
  best = cheaper(best, protocol_cost(call.p.simple, hops, wire, call.rate));
  if (kind == CollectiveKind::all_reduce && call.p.nvls && call.ranks >= call.p.nvls->least_ranks) {
    best = cheaper(best, protocol_cost(call.p.nvls->protocol, 0.0, call.bytes, call.rate));
  }
  return best;
}

Cost nccl_across_nodes(const Call& call, CollectiveKind kind) {
  const auto& net = call.p.network;
  const double c = rounds(kind);
  const double wire = c * (call.ranks - 1.0) / call.ranks * call.bytes;
  const double rate = std::min(call.rate * call.p.simple.efficiency, call.network * net.efficiency);
  const double levels = std::ceil(std::log2(call.nodes()));
  // LL sends a flag with every word: half the rate.
  const Cost small{call.p.ll.base.seconds() + c * (call.p.ll.hop.seconds() * (call.per_node - 1.0) + net.small_hop.seconds() * levels),
                   wire / (0.5 * rate)};
  const Cost ring{call.p.simple.base.seconds() + c * net.ring_hop.seconds() * (call.ranks - call.nodes()), wire / rate};
  Cost best = cheaper(small, ring);
  if (kind == CollectiveKind::all_reduce) {
    // Trees pipeline both ways but keep only part of the ring's rate (fitted together with the latencies).
    constexpr double tree_rate = 0.6;
    const Cost tree{net.tree_base.seconds() + c * net.tree_level.seconds() * levels + c * net.tree_rank.seconds() * (call.per_node - 1.0),
                    wire / (tree_rate * rate)};
    best = cheaper(best, tree);
  }
  return best;
}

Cost all_to_all(const Call& call) {
  const double inside = (call.per_node - 1.0) / call.ranks * call.bytes + call.p.local_copy * call.bytes / call.ranks;
  Cost cost = cheaper(protocol_cost(call.p.all_to_all_small, call.per_node - 1.0, inside, call.rate),
                      protocol_cost(call.p.all_to_all_large, call.per_node - 1.0, inside, call.rate));
  if (!call.crosses_nodes()) return cost;
  const double outside = (call.ranks - call.per_node) / call.ranks * call.bytes;
  const double network_rate = call.network / call.per_node * call.p.network.all_to_all_efficiency;
  const Cost across{call.p.all_to_all_large.base.seconds() + call.p.network.all_to_all_peer.seconds() * (call.ranks - 1.0),
                    outside / network_rate};
  return across.total() > cost.total() ? across : cost;  // both run at once
}

Cost send_recv(const Call& call) {
  if (call.crosses_nodes()) {
    const bool pair = call.ranks <= 2.0 * call.per_node;  // otherwise a ring: every card sends and receives at once
    const double efficiency = pair ? 1.0 : call.p.network.send_recv_ring;
    return protocol_cost(call.p.network.send_recv, 0.0, call.bytes, call.network / call.per_node * efficiency);
  }
  return cheaper(protocol_cost(call.p.send_recv_small, 0.0, call.bytes, call.rate),
                 protocol_cost(call.p.send_recv_large, 0.0, call.bytes, call.rate));
}

Cost one_shot(const Call& call, const CollectiveParameters::OneShot& kernel) {
  const double peers = call.ranks - 1.0;
  const double per_byte = std::max(peers / (call.rate * kernel.protocol.efficiency), 1.0 / kernel.issue_rate.count());
  return {kernel.protocol.base.seconds() + kernel.protocol.hop.seconds() * peers, call.bytes * per_byte};
}

Cost two_shot(const Call& call, const CollectiveParameters::Protocol& kernel) {
  return protocol_cost(kernel, call.ranks - 1.0, 2.0 * (call.ranks - 1.0) / call.ranks * call.bytes, call.rate);
}

Cost vllm_kernel(const Call& call, AllReduceAlgorithm algorithm) {
  const CollectiveParameters::Vllm& kernels = *call.p.vllm;
  if (algorithm == AllReduceAlgorithm::one_shot) return one_shot(call, kernels.one_shot);
  if (algorithm == AllReduceAlgorithm::two_shot && kernels.two_shot) return two_shot(call, *kernels.two_shot);
  if (algorithm == AllReduceAlgorithm::symmetric_multimem && kernels.symmetric_multimem) {
    return protocol_cost(*kernels.symmetric_multimem, 0.0, (1.0 + 1.0 / call.ranks) * call.bytes, call.rate);
  }
  if (algorithm == AllReduceAlgorithm::symmetric_two_shot && kernels.symmetric_two_shot) {
    return protocol_cost(*kernels.symmetric_two_shot, 0.0, call.bytes, call.rate);
  }
  return nccl_ring(call, CollectiveKind::all_reduce);
}

Cost all_reduce(const Call& call, Bytes bytes, const GpuSpec& gpu, const NodeType& node, CommunicationLibrary library) {
  const int ranks = static_cast<int>(call.ranks);
  if (library == CommunicationLibrary::vllm && call.p.vllm) {
    return vllm_kernel(call, vllm_all_reduce(gpu, node.topology, ranks, bytes));
  }
  Cost best = nccl_ring(call, CollectiveKind::all_reduce);
  if (library == CommunicationLibrary::trtllm && call.p.trtllm) {
    best = cheaper(best, cheaper(one_shot(call, call.p.trtllm->one_shot), two_shot(call, call.p.trtllm->two_shot)));
  }
  return best;
}

double rate_inside_node(const CollectiveParameters& p, const GpuSpec& gpu, const NodeType& node, int ranks) {
  switch (node.topology) {
    case NodeTopology::nvswitch: return gpu.link.per_gpu.count();
    case NodeTopology::mesh: return std::min(gpu.link.per_gpu.count(), gpu.link.per_pair.count() * (ranks - 1));
    case NodeTopology::pairs: return ranks <= 2 ? gpu.link.per_gpu.count() : node.peer_bandwidth.count();
    case NodeTopology::pcie: break;
  }
  const double rate = std::min(gpu.link.per_gpu.count(), node.peer_bandwidth.count());
  return p.sharing > 0.0 ? rate * std::pow(2.0 / std::max(ranks, 2), p.sharing) : rate;
}

/// The host's part of a call outside a CUDA graph. vLLM's kernels also copy the input to a registered buffer.
void add_eager(Cost& cost, const Call& call, const GpuSpec& gpu, CommunicationLibrary library) {
  const auto& eager = call.p.eager;
  if (library == CommunicationLibrary::vllm) {
    cost.transfer += 2.0 * call.bytes / (gpu.memory_bandwidth.count() * eager.copy_efficiency);
  }
  const double floor = eager.floor.seconds() + eager.floor_per_rank.seconds() * (call.ranks - 2.0);
  if (cost.total() < floor) cost.latency = floor - cost.transfer;
}

}  // namespace

FamilyPrice price(const CollectiveShape& shape, const CollectiveParameters& parameters, const GpuSpec& gpu, const NodeType& node,
                  const CollectivePlacement& placement) {
  if (shape.ranks <= 1) return {};
  const int per_node = std::clamp(placement.per_node, 1, shape.ranks);
  const Call call{parameters, shape.bytes.as_double(), static_cast<double>(shape.ranks), static_cast<double>(per_node),
                  rate_inside_node(parameters, gpu, node, per_node), node.nic_bandwidth_per_gpu().count() * per_node};
  if (call.crosses_nodes() && call.network <= 0.0) {
    throw ConfigError("a group of " + std::to_string(shape.ranks) + " GPUs spans nodes, but node type `" + node.name + "` has no `nics`");
  }
  Cost cost;
  switch (shape.kind) {
    case CollectiveKind::all_reduce:
      if (call.crosses_nodes()) {
        cost = nccl_across_nodes(call, shape.kind);
        break;
      }
      cost = all_reduce(call, shape.bytes, gpu, node, placement.library);
      if (!shape.in_graph) add_eager(cost, call, gpu, placement.library);
      break;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      cost = call.crosses_nodes() ? nccl_across_nodes(call, shape.kind) : nccl_ring(call, shape.kind);
      break;
    case CollectiveKind::all_to_all: cost = all_to_all(call); break;
    case CollectiveKind::send_recv: cost = send_recv(call); break;
  }
  const Duration fixed = Duration::seconds(cost.latency);
  const Duration transfer = Duration::seconds(cost.transfer);
  return {fixed, {}, transfer, fixed + transfer};
}

namespace {

CollectiveParameters::Protocol read_protocol_keys(MapReader& map) {
  CollectiveParameters::Protocol protocol;
  protocol.base = map.require<Duration>("base", non_negative);
  protocol.hop = map.get<Duration>("hop", {}, non_negative);
  protocol.efficiency = map.require<double>("efficiency", positive);
  return protocol;
}

CollectiveParameters::Protocol read_protocol(MapReader& map, std::string_view key) {
  const auto node = map.require_child(key);
  if (!node) return {};
  MapReader inner(*node, map.errors());
  const auto protocol = read_protocol_keys(inner);
  inner.done();
  return protocol;
}

std::optional<CollectiveParameters::Protocol> maybe_protocol(MapReader& map, std::string_view key) {
  if (!map.has(key)) return std::nullopt;
  return read_protocol(map, key);
}

CollectiveParameters::OneShot read_one_shot(MapReader& map, std::string_view key) {
  const auto node = map.require_child(key);
  if (!node) return {};
  MapReader inner(*node, map.errors());
  CollectiveParameters::OneShot kernel{read_protocol_keys(inner), inner.require<BytesPerSecond>("issue_rate", positive)};
  inner.done();
  return kernel;
}

CollectiveParameters::Network read_network(const Config& node, Diagnostics& errors) {
  MapReader map(node, errors);
  CollectiveParameters::Network net;
  net.small_hop = map.require<Duration>("small_hop", non_negative);
  net.ring_hop = map.require<Duration>("ring_hop", non_negative);
  net.tree_base = map.require<Duration>("tree_base", non_negative);
  net.tree_level = map.require<Duration>("tree_level", non_negative);
  net.tree_rank = map.require<Duration>("tree_rank", non_negative);
  net.efficiency = map.require<double>("efficiency", positive);
  net.all_to_all_efficiency = map.require<double>("all_to_all_efficiency", positive);
  net.all_to_all_peer = map.require<Duration>("all_to_all_peer", non_negative);
  net.send_recv = read_protocol(map, "send_recv");
  net.send_recv_ring = map.require<double>("send_recv_ring", positive_fraction);
  map.done();
  return net;
}

void read_kernels(MapReader& map, CollectiveParameters& p) {
  if (const auto node = map.child("nvls")) {
    MapReader inner(*node, map.errors());
    p.nvls = CollectiveParameters::Nvls{read_protocol_keys(inner), inner.require<int>("least_ranks", Range{2.0})};
    inner.done();
  }
  if (const auto node = map.child("vllm")) {
    MapReader inner(*node, map.errors());
    p.vllm = CollectiveParameters::Vllm{read_one_shot(inner, "one_shot"), maybe_protocol(inner, "two_shot"),
                                        maybe_protocol(inner, "symmetric_multimem"), maybe_protocol(inner, "symmetric_two_shot")};
    inner.done();
  }
  if (const auto node = map.child("trtllm")) {
    MapReader inner(*node, map.errors());
    p.trtllm = CollectiveParameters::Trtllm{read_one_shot(inner, "one_shot"), read_protocol(inner, "two_shot")};
    inner.done();
  }
}

}  // namespace

CollectiveParameters read_collective_parameters(MapReader& map) {
  CollectiveParameters p;
  p.ll = read_protocol(map, "ll");
  p.ll128 = read_protocol(map, "ll128");
  p.simple = read_protocol(map, "simple");
  p.local_copy = map.get<double>("local_copy", 0.0, non_negative);
  p.sharing = map.get<double>("sharing", 0.0, non_negative);
  p.all_to_all_small = read_protocol(map, "all_to_all_small");
  p.all_to_all_large = read_protocol(map, "all_to_all_large");
  p.send_recv_small = read_protocol(map, "send_recv_small");
  p.send_recv_large = read_protocol(map, "send_recv_large");
  read_kernels(map, p);
  if (const auto node = map.require_child("eager")) {
    MapReader inner(*node, map.errors());
    p.eager = {inner.require<Duration>("floor", non_negative), inner.require<Duration>("floor_per_rank", non_negative),
               inner.require<double>("copy_efficiency", positive)};
    inner.done();
  }
  if (const auto node = map.require_child("network")) p.network = read_network(*node, map.errors());
  return p;
}

}  // namespace ridgeline
