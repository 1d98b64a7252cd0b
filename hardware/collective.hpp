// Collectives between the GPUs of one tensor- or expert-parallel group.
//
// Every algorithm costs t = base + hop * hops + wire / (rate * efficiency); the library or its dispatch table picks one.
// - NCCL rings (NCCL tuning.cc names the protocols LL, LL128 and Simple): hops = c (n-1), wire = c (n-1)/n * bytes with c = 2
//   for all-reduce and 1 for all-gather and reduce-scatter, plus the local copy of one chunk (out of place). The cheapest of
//   the three protocols is taken. NVLS, the reduction in the NVSwitch, moves `bytes` once, above `nvls.least_ranks` ranks.
// - Custom kernels (vLLM, TensorRT-LLM): one-shot reads (n-1) buffers, at most at `issue_rate` per peer (loads in flight over
//   latency); two-shot moves 2 (n-1)/n; multimem moves 1 + 1/n of the bytes. Dispatch: all_reduce_choice.hpp.
// - Across nodes: a ring over all ranks whose rate is the smaller of the link's and of the node's NICs in use, or a tree.
// Rates are datasheet rates of one direction. On PCIe the rings of n ranks share the host bridges: rate * (2/n)^sharing.
//
// Valid for 2 to 8 ranks of one node and 256 B to 1 GiB; across nodes 2 to 80 ranks, best above 32 MiB (small messages across
// nodes rest on few measurements). Fitted on NCCL 2.27/2.29 nccl-tests and framework kernels (aiconfigurator), and on a ten-node
// H100 cluster (nccl-tests-cluster).
#pragma once

#include <optional>

#include "hardware/all_reduce_choice.hpp"
#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

class MapReader;

struct CollectiveParameters {
  /// One protocol or algorithm.
  struct Protocol {
    Duration base;            ///< launch and first synchronisation
    Duration hop;             ///< per step of the ring, or per peer
    double efficiency = 1.0;  ///< of the link's datasheet rate
  };
  struct Nvls {
    Protocol protocol;
    int least_ranks = 0;
  };
  struct OneShot {
    Protocol protocol;
    BytesPerSecond issue_rate;  ///< what one rank can read from one peer
  };
  /// vLLM's kernels; symmetric memory only where the table of all_reduce_choice.hpp names it.
  struct Vllm {
    OneShot one_shot;
    std::optional<Protocol> two_shot;            ///< a kernel without parameters is priced as NCCL
    std::optional<Protocol> symmetric_multimem;
    std::optional<Protocol> symmetric_two_shot;
  };
  struct Trtllm {
    OneShot one_shot;
    Protocol two_shot;
  };
  /// A call outside a CUDA graph: the host's launch path is a floor, and vLLM copies the input to a registered buffer.
  struct Eager {
    Duration floor;
    Duration floor_per_rank;      ///< beyond two
    double copy_efficiency = 1.0; ///< of the memory bandwidth
  };
  struct Network {
    Duration small_hop;        ///< per level of the LL tree between nodes
    Duration ring_hop;         ///< per rank of a ring that crosses nodes
    Duration tree_base;
    Duration tree_level;       ///< per level between nodes
    Duration tree_rank;        ///< per rank inside the node
    double efficiency = 1.0;   ///< of the NICs' line rate
    double all_to_all_efficiency = 1.0;
    Duration all_to_all_peer;
    Protocol send_recv;        ///< of one rank's NICs, between two nodes
    double send_recv_ring = 1.0;  ///< share of that rate when every rank sends and receives
  };

  Protocol ll, ll128, simple;  ///< NCCL rings
  double local_copy = 0.0;     ///< time of the local chunk's copy over the time to send it
  double sharing = 0.0;        ///< 0 on a switch
  std::optional<Nvls> nvls;
  Protocol all_to_all_small, all_to_all_large;
  Protocol send_recv_small, send_recv_large;
  std::optional<Vllm> vllm;
  std::optional<Trtllm> trtllm;
  Eager eager;
  Network network;
};

/// Where the ranks sit: `per_node` consecutive ranks share a node.
struct CollectivePlacement {
  CommunicationLibrary library = CommunicationLibrary::vllm;
  int per_node = 1;
};

/// Zero for a single rank. `fixed` is latency, `memory` transfer.
FamilyPrice price(const CollectiveShape& shape, const CollectiveParameters& parameters, const GpuSpec& gpu, const NodeType& node,
                  const CollectivePlacement& placement);

/// Keys as the fields above.
CollectiveParameters read_collective_parameters(MapReader& map);

}  // namespace ridgeline
