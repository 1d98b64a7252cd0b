// Rows of published serving benchmarks, in one shape whatever file they come from.
//
// Read: throughput.csv (scenario, metric, value), batch_latency.csv (batch, metric, value), serving_latency.csv (ttft_mean_ms …)
// and serving-points*.csv (isl, osl, ttft_ms, tpot_ms). The kind of file is told by its columns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hardware/csv_table.hpp"

namespace ridgeline {

/// How a row's requests come.
enum class RowLoad : std::uint8_t {
  static_batch,  ///< `batch` requests start together and are not replaced
  offline,       ///< all requests queued at time zero, continuous batching
  closed_loop,   ///< `concurrency` in flight
  open_loop,     ///< `request_rate`, Poisson or constant
};

/// A figure the row states.
struct RowFigure {
  std::string metric;  ///< ttft, tpot, itl, e2e (median where stated, else mean), …_mean, …_p90, throughput, …
  double value = 0.0;  ///< ms, or tokens/s and requests/s of the whole system
};

/// One row as written; nothing is judged yet but what the columns mean.
struct ServingRow {
  std::string file;
  int line = 0;
  std::string id, source, date, quality, notes;  ///< quality is empty for serving points, which state none
  std::string engine, engine_version, gpu, model, weight_dtype, kv_dtype, ep_dp, length_dist, workload;
  std::int64_t num_gpus = 1;
  int tp = 1;
  int pp = 1;
  bool parallelism_stated = true;

  RowLoad load = RowLoad::offline;
  std::string arrival;  ///< as written, for open loops
  double input = 0.0;   ///< mean tokens; 0 = not stated
  double output = 0.0;
  std::optional<std::int64_t> requests;
  std::optional<std::int64_t> concurrency;  ///< or batch
  std::optional<double> request_rate;

  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> kv_capacity_tokens;
  std::optional<double> kv_fraction;
  std::string prefix_caching;

  std::vector<RowFigure> figures;
};

/// Throws ConfigError when the columns are none of the four kinds.
std::vector<ServingRow> read_serving_rows(const std::filesystem::path& file);
std::vector<ServingRow> read_serving_rows(const CsvTable& table);

}  // namespace ridgeline
