// Bandwidth inside and outside the L2, element-wise kernels as engines fuse them, and what a launch costs.
#include <cuda_bf16.h>

#include "hardware/calibration/measure.hpp"
#include "hardware/calibration/timing.cuh"

namespace ridgeline::harness {
namespace {

using bf16 = __nv_bfloat16;
constexpr int block = 256;

unsigned grid_for(std::size_t vectors) {
  return static_cast<unsigned>(std::min<std::size_t>((vectors + block - 1) / block, 65535));
}

__device__ float random_unit(unsigned long long i, unsigned seed) {  // SplitMix64's finaliser
  unsigned long long x = i * 0x9e3779b97f4a7c15ULL + seed;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<float>((x ^ (x >> 31)) >> 40) * 0x1.0p-23F - 1.0F;
}

__global__ void fill_bf16(bf16* data, std::size_t count, unsigned seed) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) {
    data[i] = __float2bfloat16(random_unit(i, seed));
  }
}

__global__ void fill_fp8(unsigned char* data, std::size_t count, unsigned seed) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) {
    // e4m3: exponents below 8 keep values below two and away from NaN (all ones).
    const auto bits = static_cast<unsigned>((random_unit(i, seed) + 1.0F) * 127.0F);
    data[i] = static_cast<unsigned char>((bits & 0x80U) | (bits & 0x3FU));
  }
}

__global__ void read_kernel(const uint4* in, uint4* sink, std::size_t count) {
  uint4 sum{};
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) {
    const uint4 v = in[i];
    sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
  }
  if (sum.x == 0x12345678U && sum.y == 0x9abcdef0U) *sink = sum;  // never, but the compiler cannot know
}

__global__ void write_kernel(uint4* out, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) {
    out[i] = make_uint4(1, 2, 3, static_cast<unsigned>(i));
  }
}

__global__ void copy_kernel(const uint4* in, uint4* out, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) out[i] = in[i];
}

__global__ void empty_kernel() {}

// One block a row: residual += input; output = residual / rms(residual) * weight.
__global__ void residual_norm(const bf16* in, bf16* residual, bf16* out, const bf16* weight, int width) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0F;
  __syncthreads();
  const std::size_t base = static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(width);
  float sum = 0.0F;
  for (int i = threadIdx.x; i < width; i += block) {
    const float x = __bfloat162float(in[base + i]) + __bfloat162float(residual[base + i]);
    residual[base + i] = __float2bfloat16(x);
    sum += x * x;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0U, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, sum);
  __syncthreads();
  const float factor = rsqrtf(total / static_cast<float>(width) + 1e-6F);
  for (int i = threadIdx.x; i < width; i += block) {
    out[base + i] = __float2bfloat16(__bfloat162float(residual[base + i]) * factor * __bfloat162float(weight[i]));
  }
}

__global__ void silu_mul(const bf16* in, bf16* out, int width, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) {
    const std::size_t row = i / static_cast<std::size_t>(width), column = i % static_cast<std::size_t>(width);
    const float gate = __bfloat162float(in[2 * row * width + column]);
    out[i] = __float2bfloat16(gate / (1.0F + __expf(-gate)) * __bfloat162float(in[(2 * row + 1) * width + column]));
  }
}

__global__ void add_kernel(const bf16* a, const bf16* b, bf16* out, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * block) {
    out[i] = __hadd(a[i], b[i]);
  }
}

// In place, heads of 128, halves rotated (the NeoX layout).
__global__ void rope(bf16* data, int width, std::size_t pairs) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < pairs; i += std::size_t{gridDim.x} * block) {
    const std::size_t half = static_cast<std::size_t>(width) / 2;
    const std::size_t token = i / half, pair = i % half;
    const std::size_t at = token * static_cast<std::size_t>(width) + pair / 64 * 128 + pair % 64;
    float sine = 0, cosine = 0;
    __sincosf(static_cast<float>(token) * exp2f(-static_cast<float>(pair % 64) * 0.2F), &sine, &cosine);
    const float x = __bfloat162float(data[at]), y = __bfloat162float(data[at + 64]);
    data[at] = __float2bfloat16(x * cosine - y * sine);
    data[at + 64] = __float2bfloat16(x * sine + y * cosine);
  }
}

__global__ void embedding(const bf16* table, bf16* out, int width, std::size_t rows_in_table) {
  const std::size_t row = (static_cast<std::size_t>(blockIdx.x) * 2654435761U) % rows_in_table;
  for (int i = threadIdx.x; i < width; i += block) {
    out[static_cast<std::size_t>(blockIdx.x) * width + i] = table[row * width + i];
  }
}

}  // namespace

void fill_random_bf16(const Buffer& buffer, unsigned seed) {
  const std::size_t count = buffer.bytes() / 2;
  fill_bf16<<<grid_for(count), block>>>(buffer.as<bf16>(), count, seed);
  check(cudaDeviceSynchronize(), "fill");
}

void fill_random_fp8(const Buffer& buffer, unsigned seed) {
  fill_fp8<<<grid_for(buffer.bytes()), block>>>(buffer.as<unsigned char>(), buffer.bytes(), seed);
  check(cudaDeviceSynchronize(), "fill");
}

void measure_bandwidth(std::ostream& out, const Machine& machine, const SweepLimits& limits) {
  write_bandwidth_columns(out);
  for (const BandwidthCase& c : bandwidth_cases(limits)) {
    const Buffer from(c.bytes), to(c.bytes);
    fill_random_bf16(from, 1);
    const std::size_t vectors = c.bytes / sizeof(uint4);
    const unsigned grid = grid_for(vectors);
    const Estimate time = time_in_graph([&](cudaStream_t stream, int) {
      if (c.op == "read") read_kernel<<<grid, block, 0, stream>>>(from.as<uint4>(), to.as<uint4>(), vectors);
      if (c.op == "write") write_kernel<<<grid, block, 0, stream>>>(to.as<uint4>(), vectors);
      if (c.op == "copy") copy_kernel<<<grid, block, 0, stream>>>(from.as<uint4>(), to.as<uint4>(), vectors);
    });
    write_row(out, machine, c, time, "ridgeline/bandwidth");
  }
}

void measure_launch(std::ostream& out, const Machine& machine) {
  const Estimate graph = time_in_graph([](cudaStream_t stream, int) { empty_kernel<<<1, 32, 0, stream>>>(); });
  write_row(out, machine, BandwidthCase{"graph_node", 0}, graph, "ridgeline/launch");

  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<double> samples;
  for (int sample = 0; sample < 9; ++sample) {
    constexpr int launches = 1000;
    check(cudaEventRecord(begin), "cudaEventRecord");
    for (int i = 0; i < launches; ++i) empty_kernel<<<1, 32>>>();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "launch");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    samples.push_back(static_cast<double>(ms) * 1e3 / launches);
  }
  write_row(out, machine, BandwidthCase{"eager_launch", 0}, estimate(std::move(samples)), "ridgeline/launch");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

void measure_elementwise(std::ostream& out, const Machine& machine) {
  write_elementwise_columns(out);
  constexpr std::size_t vocabulary = 32768;
  for (const ElementwiseCase& c : elementwise_cases()) {
    const auto tokens = static_cast<unsigned>(c.tokens);
    const auto width = static_cast<int>(c.width);
    const std::size_t count = static_cast<std::size_t>(c.tokens) * static_cast<std::size_t>(c.width);
    const Buffer in(2 * count * sizeof(bf16)), other(count * sizeof(bf16)), result(count * sizeof(bf16));
    const Buffer table((c.op == "embedding" ? vocabulary : 1) * static_cast<std::size_t>(c.width) * sizeof(bf16));
    fill_random_bf16(in, 1);
    fill_random_bf16(other, 2);
    fill_random_bf16(table, 3);
    const Estimate time = time_in_graph([&](cudaStream_t stream, int) {
      if (c.op == "rmsnorm+residual") {
        residual_norm<<<tokens, block, 0, stream>>>(in.as<bf16>(), other.as<bf16>(), result.as<bf16>(), table.as<bf16>(), width);
      } else if (c.op == "silu_mul") {
        silu_mul<<<grid_for(count), block, 0, stream>>>(in.as<bf16>(), result.as<bf16>(), width, count);
      } else if (c.op == "rope") {
        rope<<<grid_for(count / 2), block, 0, stream>>>(in.as<bf16>(), width, count / 2);
      } else if (c.op == "add") {
        add_kernel<<<grid_for(count), block, 0, stream>>>(in.as<bf16>(), other.as<bf16>(), result.as<bf16>(), count);
      } else {
        embedding<<<tokens, block, 0, stream>>>(table.as<bf16>(), result.as<bf16>(), width, vocabulary);
      }
    });
    write_row(out, machine, c, time, "ridgeline/elementwise");
  }
}

}  // namespace ridgeline::harness
