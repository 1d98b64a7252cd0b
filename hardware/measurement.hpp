// Measured operator calls, read from CSV: what `validate operators`, `calibrate` and the table cost model work on.
//
// Columns are named by the header, units by the column name (time_us, time_ms, time_s, latency_us). Common: gpu, op, dtype,
// source, label. Per family:
//   gemm, gemm+act_quant        m, n, k
//   attn_decode, attn_prefill   num_q_heads, num_kv_heads, head_dim, kv_dtype, batch, q_len, kv_len
//   mla_decode, mla_prefill     the same; V is the first 512 of 576, or 128 beside a key of 192
//   attn_mixed                  num_q_heads, num_kv_heads, head_dim, prefill_q_len, prefill_kv_history, n_decode, decode_kv_len
//   rmsnorm, silu_mul, …        tokens, width
//   all_reduce, all_gather, …   ranks, ranks_per_node, bytes
//   fused_moe                   tokens, hidden, inter, topk, experts, moe_tp, moe_ep, distribution
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hardware/csv_table.hpp"
#include "hardware/device.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

/// One measured call: the operator with its work figures, and what the benchmark did around it.
struct Measurement {
  std::string file;
  int line = 0;
  std::string gpu;  ///< as written
  std::string op;
  std::string dtype;
  std::string source;
  std::string label;
  Duration time;
  Op work;
  std::shared_ptr<const std::vector<PrefillChunk>> chunks;  ///< what an AttentionShape in `work` refers to
  PricingConditions conditions;
};

/// Rows that can't be priced, by reason.
struct SkippedRows {
  std::string reason;
  std::size_t rows = 0;
};

struct Measurements {
  std::vector<Measurement> rows;
  std::vector<SkippedRows> skipped;  ///< in order of first appearance

  void skip(const std::string& reason, std::size_t count = 1);
};

/// Appends the rows of one file. A row that isn't an operator this project prices is counted under its reason, never dropped.
/// Throws ConfigError as CsvTable::load.
void read_measurements(const std::filesystem::path& file, Measurements& into);
void read_measurements(const CsvTable& table, Measurements& into);

/// Catalog name of a GPU label as benchmarks and drivers write it ("H100-SXM-80GB", "NVIDIA H100 80GB HBM3"); empty when unknown.
/// A label without a form factor means the SXM card.
std::string catalog_gpu(const std::string& label);

}  // namespace ridgeline
