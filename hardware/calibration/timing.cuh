// Timing on the device: warm-up, a CUDA graph of repeated launches, CUDA events, median of replays.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hardware/calibration/samples.hpp"

namespace ridgeline::harness {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// Device memory of a fixed size, freed with its owner.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// Fills a buffer with pseudo-random bf16 values in (-1, 1): zeros would draw less power and run at higher clocks.
void fill_random_bf16(const Buffer& buffer, unsigned seed);
/// Random bytes that are finite as fp8 e4m3.
void fill_random_fp8(const Buffer& buffer, unsigned seed);

/// Time of one `launch(stream, i)`; i counts the launches of a batch, so that a caller can cycle through copies of its data.
inline Estimate time_in_graph(const std::function<void(cudaStream_t, int)>& launch, int replays = 9) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  const auto elapsed_us = [&](const std::function<void()>& work) {
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    work();
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    return static_cast<double>(ms) * 1e3;
  };

  for (int i = 0; i < 3; ++i) launch(stream, i);  // warm-up: lazy module loading, algorithm selection
  check(cudaStreamSynchronize(stream), "warm-up");
  const int repeats = repeats_for(elapsed_us([&] { launch(stream, 0); }));

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < repeats; ++i) launch(stream, i);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");

  std::vector<double> samples;
  for (int i = 0; i < replays; ++i) {
    samples.push_back(elapsed_us([&] { check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch"); }) / repeats);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
  return estimate(std::move(samples));
}

}  // namespace ridgeline::harness
