// Which all-reduce an engine runs for a given size: the dispatch tables of vLLM and TensorRT-LLM.
//
// Source: vLLM main of 2026 (distributed/device_communicators: custom_all_reduce.py, symm_mem.py, all_reduce_utils.py and
// csrc/custom_all_reduce.cuh).
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// Who issues the collective.
enum class CommunicationLibrary : std::uint8_t { nccl, vllm, trtllm };

enum class AllReduceAlgorithm : std::uint8_t {
  nccl,                 ///< ring, tree or in-switch reduction, NCCL's own choice
  one_shot,             ///< every rank reads all buffers and sums
  two_shot,             ///< reduce-scatter then all-gather, in one kernel
  symmetric_multimem,   ///< PyTorch symmetric memory, reduced in the NVSwitch
  symmetric_two_shot,   ///< PyTorch symmetric memory without the switch
};

std::string_view to_string(AllReduceAlgorithm algorithm);

/// vLLM's dispatch for `ranks` GPUs of one node: the custom kernel below its limit and for multiples of 16 bytes, then symmetric
/// memory up to its limit, then NCCL. More than two GPUs on PCIe: NCCL.
AllReduceAlgorithm vllm_all_reduce(const GpuSpec& gpu, NodeTopology topology, int ranks, Bytes bytes);

}  // namespace ridgeline
