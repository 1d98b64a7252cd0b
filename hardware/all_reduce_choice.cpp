#include "hardware/all_reduce_choice.hpp"

#include <array>

namespace ridgeline {

namespace {

/// Limits by rank count; 0 = the algorithm is not used.
struct Limits {
  Bytes two, four, six, eight;
  [[nodiscard]] Bytes of(int ranks) const {
    switch (ranks) {
      case 2: return two;
      case 4: return four;
      case 6: return six;
      case 8: return eight;
      default: return {};
    }
  }
};

struct Table {
  Limits custom;     // exclusive
  Limits symmetric;  // inclusive
};

// CUSTOM_ALL_REDUCE_MAX_SIZES and SYMM_MEM_ALL_REDUCE_MAX_SIZES; without symmetric memory the custom limit is 8 MiB.
constexpr Table without_symmetric{{8_MiB, 8_MiB, 8_MiB, 8_MiB}, {}};
constexpr Table hopper{{8_MiB, 8_MiB, 512_KiB, 256_KiB}, {64_MiB, 32_MiB, 64_MiB, 64_MiB}};
constexpr Table blackwell{{2_MiB, 2_MiB, 1_MiB, 1_MiB}, {8_MiB, 32_MiB, 128_MiB, 128_MiB}};

const Table& table_of(const GpuSpec& gpu, NodeTopology topology) {
  if (topology != NodeTopology::nvswitch) return without_symmetric;
  if (gpu.compute_capability == 90) return hopper;
  if (gpu.compute_capability == 100) return blackwell;
  return without_symmetric;
}

// custom_all_reduce.cuh: one shot where its extra traffic costs less than a second synchronisation.
bool one_shot(int ranks, Bytes bytes) {
  return ranks == 2 || (ranks <= 4 && bytes < 512_KiB) || (ranks <= 8 && bytes < 256_KiB);
}

}  // namespace

std::string_view to_string(AllReduceAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> names{"nccl", "one_shot", "two_shot", "symmetric_multimem", "symmetric_two_shot"};
  return names[static_cast<std::size_t>(algorithm)];
}

AllReduceAlgorithm vllm_all_reduce(const GpuSpec& gpu, NodeTopology topology, int ranks, Bytes bytes) {
  const bool switched = topology == NodeTopology::nvswitch || topology == NodeTopology::mesh;
  if (!switched && ranks > 2) return AllReduceAlgorithm::nccl;
  const Table& table = table_of(gpu, topology);
  if (bytes < table.custom.of(ranks) && bytes.count() % 16 == 0) {
    return one_shot(ranks, bytes) ? AllReduceAlgorithm::one_shot : AllReduceAlgorithm::two_shot;
  }
  if (bytes <= table.symmetric.of(ranks)) {
    return ranks == 2 ? AllReduceAlgorithm::symmetric_two_shot : AllReduceAlgorithm::symmetric_multimem;
  }
  return AllReduceAlgorithm::nccl;
}

}  // namespace ridgeline
