// Collectives over NCCL between the GPUs of this machine, eager and from a CUDA graph, one process and one stream a GPU.
#include <nccl.h>

#include <memory>
#include <vector>

#include "hardware/calibration/measure.hpp"
#include "hardware/calibration/timing.cuh"

namespace ridgeline::harness {
namespace {

void check_nccl(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status));
}

class Ranks {
 public:
  explicit Ranks(int count, std::size_t largest) : communicators_(static_cast<std::size_t>(count)) {
    check_nccl(ncclCommInitAll(communicators_.data(), count, nullptr), "ncclCommInitAll");
    for (int rank = 0; rank < count; ++rank) {
      check(cudaSetDevice(rank), "cudaSetDevice");
      from_.push_back(std::make_unique<Buffer>(largest));
      to_.push_back(std::make_unique<Buffer>(largest));
      cudaStream_t stream = nullptr;
      check(cudaStreamCreate(&stream), "cudaStreamCreate");
      streams_.push_back(stream);
    }
    check(cudaSetDevice(0), "cudaSetDevice");
  }
  ~Ranks() {
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      ncclCommDestroy(communicators_[rank]);
      cudaStreamDestroy(streams_[rank]);
    }
  }

  void launch(const CollectiveCase& c) const {
    const std::size_t count = c.bytes / 2, ranks = streams_.size();
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const ncclComm_t communicator = communicators_[rank];
      void* from = from_[rank]->as<void>();
      void* to = to_[rank]->as<void>();
      if (c.op == "all_reduce") {
        check_nccl(ncclAllReduce(from, to, count, ncclBfloat16, ncclSum, communicator, streams_[rank]), "ncclAllReduce");
      } else if (c.op == "all_gather") {
        check_nccl(ncclAllGather(from, to, count / ranks, ncclBfloat16, communicator, streams_[rank]), "ncclAllGather");
      } else {  // a ring of messages
        check_nccl(ncclSend(from, count, ncclBfloat16, static_cast<int>((rank + 1) % ranks), communicator, streams_[rank]), "ncclSend");
        check_nccl(ncclRecv(to, count, ncclBfloat16, static_cast<int>((rank + ranks - 1) % ranks), communicator, streams_[rank]), "ncclRecv");
      }
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

  /// Median time of one collective, launched `repeats` times in a row between two events on rank 0.
  [[nodiscard]] Estimate time(const CollectiveCase& c) const {
    cudaEvent_t begin = nullptr, end = nullptr;
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    const auto batch_us = [&](int repeats) {
      check(cudaEventRecord(begin, streams_[0]), "cudaEventRecord");
      for (int i = 0; i < repeats; ++i) launch(c);
      check(cudaEventRecord(end, streams_[0]), "cudaEventRecord");
      for (const cudaStream_t stream : streams_) check(cudaStreamSynchronize(stream), "collective");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
      return static_cast<double>(ms) * 1e3;
    };
    batch_us(5);
    const int repeats = repeats_for(batch_us(1));
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i) samples.push_back(batch_us(repeats) / repeats);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return estimate(std::move(samples));
  }

 private:
  std::vector<ncclComm_t> communicators_;
  std::vector<std::unique_ptr<Buffer>> from_, to_;
  std::vector<cudaStream_t> streams_;
};

}  // namespace

void measure_collectives(std::ostream& out, const Machine& machine) {
  const std::vector<CollectiveCase> cases = collective_cases();
  const Ranks ranks(machine.gpus, cases.back().bytes);
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  write_collective_columns(out);
  for (const CollectiveCase& c : cases) write_row(out, machine, c, ranks.time(c), "ridgeline/nccl-" + std::to_string(version));
}

}  // namespace ridgeline::harness
