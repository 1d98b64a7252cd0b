// Our own attention kernels, for machines without PyTorch: paged flash-decoding (split-KV, GQA-packed) and causal flash prefill
// over the same paged cache, both on tensor cores in bf16. After Dao et al., FlashAttention-2 (2023), and the Flash-Decoding note (2023).
//
// They are honest kernels, not the engines': rows carry the source `ridgeline/flash-decode` and `ridgeline/flash-prefill`.
#include <cuda_bf16.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hardware/calibration/measure.hpp"
#include "hardware/calibration/timing.cuh"

namespace ridgeline::harness {
namespace {

namespace wmma = nvcuda::wmma;
using bf16 = __nv_bfloat16;

constexpr int page_tokens = 16;   // tokens a KV page
constexpr int tile_keys = 64;     // keys a loop iteration: four pages
constexpr int warps = 4;
constexpr int threads = warps * 32;
constexpr float masked = -1e30F;

// Everything both kernels need. K and V caches: [page][kv head][page_tokens][dim]; page table: [sequence][pages].
struct Attention {
  const bf16* query;    // [sequence][q_len][query heads][dim]
  const bf16* keys;
  const bf16* values;
  const int* pages;
  bf16* output;         // as query
  float* partial;       // decode: [split][sequence][query head][dim], not yet normalised across splits
  float2* partial_sum;  // decode: [split][sequence][query head] = (maximum, sum)
  int query_heads, kv_heads, q_len, kv_len, pages_per_sequence, splits;
  float scale;
};

template <int dim>
__device__ const bf16* token_in(const bf16* cache, const Attention& a, int sequence, int head, int token) {
  const int page = a.pages[sequence * a.pages_per_sequence + token / page_tokens];
  return cache + ((static_cast<long long>(page) * a.kv_heads + head) * page_tokens + token % page_tokens) * dim;
}

// Loads `tile_keys` tokens from `first` on into shared memory, zeros past the end, 16 bytes a thread and turn.
template <int dim>
__device__ void load_tile(bf16* tile, const bf16* cache, const Attention& a, int sequence, int head, int first) {
  constexpr int vectors = dim / 8;
  for (int i = threadIdx.x; i < tile_keys * vectors; i += threads) {
    const int token = first + i / vectors;
    uint4 value{};
    if (token < a.kv_len) value = reinterpret_cast<const uint4*>(token_in<dim>(cache, a, sequence, head, token))[i % vectors];
    reinterpret_cast<uint4*>(tile)[i] = value;
  }
}

// One block's work on a tile of `rows` queries: scores, online softmax, accumulation. `rows` is a multiple of 16.
template <int dim, int rows>
struct Shared {
  bf16 query[rows * dim];
  bf16 keys[tile_keys * dim];
  bf16 values[tile_keys * dim];
  float scores[rows * tile_keys];
  bf16 weights[rows * tile_keys];
  float output[rows * dim];
  float maximum[rows], sum[rows], rescale[rows];
};

template <int dim, int rows>
__device__ void scores_of_tile(Shared<dim, rows>& s) {
  const int warp = threadIdx.x / 32;
  for (int block = warp; block < (rows / 16) * (tile_keys / 16); block += warps) {
    const int row = block / (tile_keys / 16) * 16;
    const int key = block % (tile_keys / 16) * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0F);
    for (int d = 0; d < dim; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> q;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::col_major> k;
      wmma::load_matrix_sync(q, s.query + row * dim + d, dim);
      wmma::load_matrix_sync(k, s.keys + key * dim + d, dim);
      wmma::mma_sync(sum, q, k, sum);
    }
    wmma::store_matrix_sync(s.scores + row * tile_keys + key, sum, tile_keys, wmma::mem_row_major);
  }
}

// Row r sees keys up to `last_visible(r)`, counted from the tile's first key.
template <int dim, int rows, class Visible>
__device__ void softmax_of_tile(Shared<dim, rows>& s, float scale, Visible last_visible) {
  const int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < rows; row += warps) {
    const int last = last_visible(row);
    float best = masked;
    for (int key = lane; key < tile_keys; key += 32) {
      if (key <= last) best = fmaxf(best, s.scores[row * tile_keys + key] * scale);
    }
    for (int offset = 16; offset > 0; offset /= 2) best = fmaxf(best, __shfl_xor_sync(~0U, best, offset));
    const float maximum = fmaxf(s.maximum[row], best);
    float sum = 0.0F;
    for (int key = lane; key < tile_keys; key += 32) {
      const float weight = key <= last ? __expf(s.scores[row * tile_keys + key] * scale - maximum) : 0.0F;
      s.weights[row * tile_keys + key] = __float2bfloat16(weight);
      sum += weight;
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0U, sum, offset);
    if (lane == 0) {
      s.rescale[row] = __expf(s.maximum[row] - maximum);
      s.sum[row] = s.sum[row] * s.rescale[row] + sum;
      s.maximum[row] = maximum;
    }
  }
}

template <int dim, int rows>
__device__ void accumulate_tile(Shared<dim, rows>& s) {
  for (int i = threadIdx.x; i < rows * dim; i += threads) s.output[i] *= s.rescale[i / dim];
  __syncthreads();
  const int warp = threadIdx.x / 32;
  for (int block = warp; block < (rows / 16) * (dim / 16); block += warps) {
    const int row = block / (dim / 16) * 16;
    const int d = block % (dim / 16) * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(sum, s.output + row * dim + d, dim, wmma::mem_row_major);
    for (int key = 0; key < tile_keys; key += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> weight;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> value;
      wmma::load_matrix_sync(weight, s.weights + row * tile_keys + key, tile_keys);
      wmma::load_matrix_sync(value, s.values + key * dim + d, dim);
      wmma::mma_sync(sum, weight, value, sum);
    }
    wmma::store_matrix_sync(s.output + row * dim + d, sum, dim, wmma::mem_row_major);
  }
}

template <int dim, int rows>
__device__ void reset(Shared<dim, rows>& s) {
  for (int i = threadIdx.x; i < rows * dim; i += threads) s.output[i] = 0.0F;
  for (int i = threadIdx.x; i < rows; i += threads) s.maximum[i] = masked, s.sum[i] = 0.0F;
}

// Grid (kv heads, sequences, splits): the query heads that share a KV head are the rows, padded to the tensor cores' 16.
template <int dim>
__global__ void flash_decode(Attention a) {
  constexpr int rows = 16;
  extern __shared__ __align__(128) unsigned char raw[];
  auto& s = *reinterpret_cast<Shared<dim, rows>*>(raw);
  const int head = blockIdx.x, sequence = blockIdx.y, split = blockIdx.z;
  const int group = a.query_heads / a.kv_heads;
  for (int i = threadIdx.x; i < rows * dim; i += threads) {
    const int row = i / dim;
    s.query[i] = row < group ? a.query[(static_cast<long long>(sequence) * a.query_heads + head * group + row) * dim + i % dim]
                             : __float2bfloat16(0.0F);
  }
  reset(s);
  const int tiles = (a.kv_len + tile_keys - 1) / tile_keys;
  const int per_split = (tiles + a.splits - 1) / a.splits;
  for (int tile = split * per_split; tile < min(tiles, (split + 1) * per_split); ++tile) {
    const int first = tile * tile_keys;
    __syncthreads();
    load_tile<dim>(s.keys, a.keys, a, sequence, head, first);
    load_tile<dim>(s.values, a.values, a, sequence, head, first);
    __syncthreads();
    scores_of_tile(s);
    __syncthreads();
    softmax_of_tile(s, a.scale, [&](int) { return a.kv_len - 1 - first; });
    __syncthreads();
    accumulate_tile(s);
  }
  __syncthreads();
  const long long base = (static_cast<long long>(split) * gridDim.y + sequence) * a.query_heads + head * group;
  for (int i = threadIdx.x; i < group * dim; i += threads) a.partial[base * dim + i] = s.output[i];
  for (int i = threadIdx.x; i < group; i += threads) a.partial_sum[base + i] = make_float2(s.maximum[i], s.sum[i]);
}

// Grid (query heads, sequences), dim threads: joins the splits.
__global__ void combine_splits(Attention a, int sequences) {
  const int head = blockIdx.x, sequence = blockIdx.y, dim = blockDim.x;
  float maximum = masked;
  for (int split = 0; split < a.splits; ++split) {
    maximum = fmaxf(maximum, a.partial_sum[(static_cast<long long>(split) * sequences + sequence) * a.query_heads + head].x);
  }
  float sum = 0.0F, value = 0.0F;
  for (int split = 0; split < a.splits; ++split) {
    const long long at = (static_cast<long long>(split) * sequences + sequence) * a.query_heads + head;
    const float weight = __expf(a.partial_sum[at].x - maximum);
    sum += weight * a.partial_sum[at].y;
    value += weight * a.partial[at * dim + threadIdx.x];
  }
  a.output[(static_cast<long long>(sequence) * a.query_heads + head) * dim + threadIdx.x] = __float2bfloat16(value / sum);
}

// Grid (query tiles, query heads, sequences): 64 queries a block, keys up to the diagonal.
template <int dim>
__global__ void flash_prefill(Attention a) {
  constexpr int rows = 64;
  extern __shared__ __align__(128) unsigned char raw[];
  auto& s = *reinterpret_cast<Shared<dim, rows>*>(raw);
  const int first_row = blockIdx.x * rows, head = blockIdx.y, sequence = blockIdx.z;
  const int kv_head = head / (a.query_heads / a.kv_heads);
  const int history = a.kv_len - a.q_len;
  for (int i = threadIdx.x; i < rows * dim; i += threads) {
    const int row = first_row + i / dim;
    s.query[i] = row < a.q_len
                     ? a.query[((static_cast<long long>(sequence) * a.q_len + row) * a.query_heads + head) * dim + i % dim]
                     : __float2bfloat16(0.0F);
  }
  reset(s);
  const int last_key = min(a.kv_len, history + first_row + rows) - 1;
  for (int first = 0; first <= last_key; first += tile_keys) {
    __syncthreads();
    load_tile<dim>(s.keys, a.keys, a, sequence, kv_head, first);
    load_tile<dim>(s.values, a.values, a, sequence, kv_head, first);
    __syncthreads();
    scores_of_tile(s);
    __syncthreads();
    softmax_of_tile(s, a.scale, [&](int row) { return min(history + first_row + row, a.kv_len - 1) - first; });
    __syncthreads();
    accumulate_tile(s);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < rows * dim; i += threads) {
    const int row = first_row + i / dim;
    if (row < a.q_len) {
      a.output[((static_cast<long long>(sequence) * a.q_len + row) * a.query_heads + head) * dim + i % dim] =
          __float2bfloat16(s.output[i] / s.sum[i / dim]);
    }
  }
}

// A case's data on the device, pages dealt in a scattered order as in a cache that has lived.
class Problem {
 public:
  explicit Problem(const AttentionCase& c)
      : case_(c),
        pages_per_sequence_(static_cast<int>((c.kv_len + page_tokens - 1) / page_tokens)),
        splits_(choose_splits(c)),
        query_(elements(c.q_len) * 2),
        output_(elements(c.q_len) * 2),
        keys_(cache_bytes()),
        values_(cache_bytes()),
        pages_(static_cast<std::size_t>(c.batch) * static_cast<std::size_t>(pages_per_sequence_) * sizeof(int)),
        partial_(elements(1) * static_cast<std::size_t>(splits_) * sizeof(float)),
        partial_sum_(elements(1) / static_cast<std::size_t>(c.head_dim) * static_cast<std::size_t>(splits_) * sizeof(float2)) {
    fill_random_bf16(query_, 1);
    fill_random_bf16(keys_, 2);
    fill_random_bf16(values_, 3);
    const std::size_t count = pages_.bytes() / sizeof(int);
    std::vector<int> table(count);
    for (std::size_t i = 0; i < count; ++i) table[i] = static_cast<int>(i);
    std::uint64_t state = 88172645463325252ULL;  // xorshift64 (Marsaglia 2003)
    for (std::size_t i = count; i > 1; --i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      std::swap(table[i - 1], table[state % i]);
    }
    check(cudaMemcpy(pages_.as<int>(), table.data(), pages_.bytes(), cudaMemcpyHostToDevice), "page table");
  }

  void launch(cudaStream_t stream) const {
    if (case_.head_dim == 64) {
      launch_for<64>(stream);
    } else {
      launch_for<128>(stream);
    }
    check(cudaGetLastError(), "attention launch");
  }

  [[nodiscard]] std::vector<float> output() const { return to_host(output_); }
  [[nodiscard]] std::vector<float> reference() const;

 private:
  static int choose_splits(const AttentionCase& c) {
    if (!c.decode()) return 1;
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "device attribute");
    const auto blocks = static_cast<int>(c.batch * c.kv_heads);
    const auto tiles = static_cast<int>((c.kv_len + tile_keys - 1) / tile_keys);
    return std::clamp(2 * multiprocessors / blocks, 1, tiles);
  }
  [[nodiscard]] std::size_t elements(std::int64_t tokens) const {
    return static_cast<std::size_t>(case_.batch * tokens) * static_cast<std::size_t>(case_.query_heads * case_.head_dim);
  }
  [[nodiscard]] std::size_t cache_bytes() const {
    return static_cast<std::size_t>(case_.batch) * static_cast<std::size_t>(pages_per_sequence_) * page_tokens *
           static_cast<std::size_t>(case_.kv_heads * case_.head_dim) * 2;
  }
  static std::vector<float> to_host(const Buffer& buffer) {
    std::vector<bf16> raw(buffer.bytes() / 2);
    check(cudaMemcpy(raw.data(), buffer.as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost), "copy to host");
    std::vector<float> values(raw.size());
    std::transform(raw.begin(), raw.end(), values.begin(), [](bf16 x) { return __bfloat162float(x); });
    return values;
  }
  [[nodiscard]] Attention arguments() const {
    return {query_.as<bf16>(), keys_.as<bf16>(), values_.as<bf16>(), pages_.as<int>(), output_.as<bf16>(), partial_.as<float>(),
            partial_sum_.as<float2>(), case_.query_heads, case_.kv_heads, static_cast<int>(case_.q_len),
            static_cast<int>(case_.kv_len), pages_per_sequence_, splits_, 1.0F / std::sqrt(static_cast<float>(case_.head_dim))};
  }
  template <int dim>
  void launch_for(cudaStream_t stream) const {
    const Attention a = arguments();
    const auto batch = static_cast<unsigned>(case_.batch);
    if (case_.decode()) {
      constexpr std::size_t shared = sizeof(Shared<dim, 16>);
      check(cudaFuncSetAttribute(flash_decode<dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "shared memory");
      flash_decode<dim><<<dim3(static_cast<unsigned>(a.kv_heads), batch, static_cast<unsigned>(a.splits)), threads, shared, stream>>>(a);
      combine_splits<<<dim3(static_cast<unsigned>(a.query_heads), batch), dim, 0, stream>>>(a, static_cast<int>(case_.batch));
    } else {
      constexpr std::size_t shared = sizeof(Shared<dim, 64>);
      check(cudaFuncSetAttribute(flash_prefill<dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "shared memory");
      flash_prefill<dim><<<dim3(static_cast<unsigned>((a.q_len + 63) / 64), static_cast<unsigned>(a.query_heads), batch), threads, shared, stream>>>(a);
    }
  }

  AttentionCase case_;
  int pages_per_sequence_;
  int splits_;
  Buffer query_, output_, keys_, values_, pages_, partial_, partial_sum_;
};

std::vector<float> Problem::reference() const {
  const std::vector<float> q = to_host(query_), k = to_host(keys_), v = to_host(values_);
  std::vector<int> pages(pages_.bytes() / sizeof(int));
  check(cudaMemcpy(pages.data(), pages_.as<int>(), pages_.bytes(), cudaMemcpyDeviceToHost), "copy to host");
  const auto dim = static_cast<std::size_t>(case_.head_dim);
  const auto heads = static_cast<std::size_t>(case_.query_heads), kv_heads = static_cast<std::size_t>(case_.kv_heads);
  std::vector<float> out(q.size());
  for (std::size_t sequence = 0; sequence < static_cast<std::size_t>(case_.batch); ++sequence) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(case_.q_len); ++row) {
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t at = ((sequence * static_cast<std::size_t>(case_.q_len) + row) * heads + head) * dim;
        const std::size_t visible = static_cast<std::size_t>(case_.kv_len - case_.q_len) + row + 1;
        const auto token = [&](std::size_t t) {
          const auto page = static_cast<std::size_t>(pages[sequence * static_cast<std::size_t>(pages_per_sequence_) + t / page_tokens]);
          return ((page * kv_heads + head / (heads / kv_heads)) * page_tokens + t % page_tokens) * dim;
        };
        std::vector<double> score(visible);
        double best = -1e300, sum = 0;
        for (std::size_t t = 0; t < visible; ++t) {
          for (std::size_t d = 0; d < dim; ++d) score[t] += static_cast<double>(q[at + d]) * static_cast<double>(k[token(t) + d]);
          score[t] /= std::sqrt(static_cast<double>(dim));
          best = std::max(best, score[t]);
        }
        for (double& x : score) sum += x = std::exp(x - best);
        for (std::size_t d = 0; d < dim; ++d) {
          double value = 0;
          for (std::size_t t = 0; t < visible; ++t) value += score[t] * static_cast<double>(v[token(t) + d]);
          out[at + d] = static_cast<float>(value / sum);
        }
      }
    }
  }
  return out;
}

}  // namespace

double attention_error() {
  double worst = 0;
  for (const AttentionCase& c : {AttentionCase{8, 2, 128, 2, 1, 300}, AttentionCase{4, 4, 64, 1, 1, 1000},
                                 AttentionCase{4, 2, 128, 2, 70, 70}, AttentionCase{4, 1, 64, 1, 100, 230}}) {
    const Problem problem(c);
    problem.launch(nullptr);
    check(cudaDeviceSynchronize(), "attention");
    const std::vector<float> ours = problem.output(), reference = problem.reference();
    for (std::size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, static_cast<double>(std::abs(ours[i] - reference[i])));
  }
  return worst;
}

void measure_attention(std::ostream& out, const Machine& machine, const SweepLimits& limits) {
  write_attention_columns(out);
  for (const AttentionCase& c : attention_cases(limits)) {
    const Problem problem(c);
    const Estimate time = time_in_graph([&](cudaStream_t stream, int) { problem.launch(stream); });
    write_row(out, machine, c, time, c.decode() ? "ridgeline/flash-decode" : "ridgeline/flash-prefill");
  }
}

}  // namespace ridgeline::harness
