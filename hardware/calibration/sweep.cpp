#include "hardware/calibration/sweep.hpp"

namespace ridgeline::harness {
namespace {

std::size_t usable(const SweepLimits& limits) { return limits.memory_bytes / 10 * 6; }

std::size_t product(std::int64_t a, std::int64_t b, std::int64_t c = 1, std::int64_t d = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) * static_cast<std::size_t>(d);
}

}  // namespace

std::vector<GemmCase> gemm_cases(const SweepLimits& limits) {
  // (n, k) of QKV, O, gate-up and down projections: Llama-3-8B and -70B at TP 1 to 8, Qwen2.5-7B, a small model, a square.
  const std::vector<std::pair<std::int64_t, std::int64_t>> weights{
      {6144, 4096}, {4096, 4096},  {28672, 4096}, {4096, 14336}, {10240, 8192}, {8192, 8192},  {57344, 8192}, {8192, 28672},
      {1280, 8192}, {8192, 1024},  {7168, 8192},  {8192, 3584},  {4608, 3584},  {3584, 18944}, {2048, 2048},  {1024, 1024}};
  const std::vector<std::int64_t> rows{1,   2,   4,   8,   16,  17,  32,   33,   64,   96,   128,  129,
                                       192, 256, 257, 384, 512, 768, 1024, 1536, 2048, 2049, 4096, 8192};
  std::vector<GemmCase> cases;
  for (const std::string dtype : {"bf16", "fp8"}) {
    if (dtype == "fp8" && !limits.has_fp8) continue;
    for (const auto& [n, k] : weights) {
      for (const std::int64_t m : rows) {
        if (2 * (product(n, k) * 4 + product(m, k) + product(m, n)) > usable(limits)) continue;
        cases.push_back({m, n, k, dtype});
      }
    }
  }
  return cases;
}

std::vector<AttentionCase> attention_cases(const SweepLimits& limits) {
  struct Heads {
    int query, kv, dim;
  };
  const std::vector<Heads> heads{{32, 8, 128}, {32, 32, 128}, {8, 1, 128}, {28, 4, 128}, {16, 8, 64}};
  std::vector<AttentionCase> cases;
  const auto add = [&](const Heads& h, std::int64_t batch, std::int64_t q_len, std::int64_t kv_len) {
    const std::size_t kv_bytes = product(batch, kv_len, h.kv, h.dim) * 4;
    if (kv_bytes < usable(limits)) cases.push_back({h.query, h.kv, h.dim, batch, q_len, kv_len});
  };
  for (const Heads& h : heads) {
    for (const std::int64_t batch : {1, 4, 16, 64, 256}) {
      for (const std::int64_t kv_len : {128, 512, 2048, 8192, 32768}) add(h, batch, 1, kv_len);
    }
    for (const std::int64_t batch : {1, 4}) {
      for (const std::int64_t q_len : {64, 256, 1000, 2048, 8192}) {
        add(h, batch, q_len, q_len);
        if (q_len <= 2048) add(h, batch, q_len, q_len + 4096);  // a chunk with history
      }
    }
  }
  return cases;
}

std::vector<ElementwiseCase> elementwise_cases() {
  std::vector<ElementwiseCase> cases;
  for (const std::string op : {"rmsnorm+residual", "silu_mul", "rope", "add", "embedding"}) {
    for (const std::int64_t width : {2048, 4096, 8192, 14336}) {
      for (const std::int64_t tokens : {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192}) cases.push_back({op, tokens, width});
    }
  }
  return cases;
}

std::vector<BandwidthCase> bandwidth_cases(const SweepLimits& limits) {
  std::vector<BandwidthCase> cases;
  for (const std::string op : {"read", "write", "copy"}) {
    for (std::size_t bytes = std::size_t{1} << 20; bytes <= std::size_t{1} << 30; bytes *= 2) {
      if (2 * bytes < usable(limits)) cases.push_back({op, bytes});
    }
  }
  return cases;
}

std::vector<CollectiveCase> collective_cases() {
  std::vector<CollectiveCase> cases;
  for (const std::string op : {"all_reduce", "all_gather", "send_recv"}) {
    for (std::size_t bytes = std::size_t{1} << 10; bytes <= std::size_t{1} << 28; bytes *= 2) cases.push_back({op, bytes});
  }
  return cases;
}

}  // namespace ridgeline::harness
