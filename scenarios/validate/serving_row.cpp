#include "scenarios/validate/serving_row.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

// The number a cell starts with: "0.9-0.99" -> 0.9, "8192 (chunked prefill)" -> 8192.
std::optional<double> leading_number(std::string_view cell) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> leading_count(std::string_view cell) {
  const std::optional<double> value = leading_number(cell);
  return value && *value >= 1.0 ? std::optional(std::llround(*value)) : std::nullopt;
}

ServingRow common(const CsvTable& table, const CsvTable::Row& cells) {
  const auto text = [&](std::string_view column) { return std::string(cells.text(column)); };
  ServingRow row;
  row.file = table.file();
  row.line = cells.line();
  row.id = text("id"), row.source = text("source"), row.date = text("date"), row.quality = text("quality"), row.notes = text("notes");
  row.engine = text("engine"), row.engine_version = text("engine_version"), row.gpu = text("gpu"), row.model = text("model");
  row.weight_dtype = text("weight_dtype"), row.kv_dtype = text("kv_dtype"), row.ep_dp = text("ep_dp");
  row.length_dist = text("length_dist"), row.workload = text("workload"), row.prefix_caching = text("prefix_caching");
  row.num_gpus = leading_count(cells.text("num_gpus")).value_or(0);
  row.parallelism_stated = cells.number("tp").has_value();
  row.tp = static_cast<int>(cells.number("tp").value_or(1.0));
  row.pp = static_cast<int>(cells.number("pp").value_or(1.0));
  if (row.num_gpus == 0) row.num_gpus = std::int64_t{row.tp} * row.pp;
  row.input = cells.number("input_len").value_or(0.0);
  row.output = cells.number("output_len").value_or(0.0);
  row.requests = leading_count(cells.text("num_requests"));
  return row;
}

void read_throughput(const CsvTable::Row& cells, ServingRow& row) {
  row.load = cells.text("scenario") == "static_batch" ? RowLoad::static_batch : RowLoad::offline;
  row.concurrency = leading_count(cells.text("concurrency_or_batch"));
  row.max_num_seqs = leading_count(cells.text("max_batch_size"));
  row.max_num_batched_tokens = leading_count(cells.text("max_num_tokens"));
  row.kv_fraction = leading_number(cells.text("kv_mem_fraction"));
  const std::string_view metric = cells.text("metric");
  const double value = cells.number("value").value_or(0.0) * (cells.text("unit") == "tok/s/GPU" ? static_cast<double>(row.num_gpus) : 1.0);
  if (metric == "output_throughput" || metric == "output_throughput_per_gpu") row.figures.push_back({"throughput", value});
  if (metric == "total_throughput") row.figures.push_back({"total_throughput", value});
  if (metric == "request_throughput") row.figures.push_back({"request_throughput", value});
}

void read_batch_latency(const CsvTable::Row& cells, ServingRow& row) {
  row.load = RowLoad::static_batch;
  row.concurrency = leading_count(cells.text("batch"));
  const std::string_view metric = cells.text("metric");
  const double value = cells.number("value").value_or(0.0);
  if (metric == "e2e_batch_latency") row.figures.push_back({"e2e", value});
  if (metric == "first_token_latency" || metric == "prefill_batch_latency") {
    row.figures.push_back({"ttft", value});
    row.output = std::max(row.output, 1.0);
  }
  if (metric == "decode_tokens_per_s_per_user" && value > 0.0) {
    row.figures.push_back({"tpot", 1e3 / value});
    if (row.input == 0.0) row.input = leading_number(cells.text("input_len")).value_or(8.0);
  }
}

// Median where the row has one, else the mean; everything else under its own name.
void read_latency(const CsvTable::Row& cells, const std::string& metric, ServingRow& row) {
  const auto value = [&](const char* statistic) { return cells.number(fmt::format("{}_{}_ms", metric, statistic)); };
  const auto add = [&](const std::string& name, const std::optional<double>& of_row) {
    if (of_row && *of_row > 0.0) row.figures.push_back({name, *of_row});
  };
  const std::optional<double> median = value("p50"), mean = value("mean");
  add(metric, median ? median : mean);
  if (median) add(metric + "_mean", mean);
  for (const char* tail : {"p90", "p95", "p99"}) add(fmt::format("{}_{}", metric, tail), value(tail));
}

void read_serving_latency(const CsvTable::Row& cells, ServingRow& row) {
  row.arrival = cells.text("arrival");
  row.load = row.arrival == "closed loop" ? RowLoad::closed_loop : row.arrival == "all at t=0" ? RowLoad::offline : RowLoad::open_loop;
  row.concurrency = leading_count(cells.text("concurrency"));
  row.request_rate = cells.number("request_rate");
  row.max_num_seqs = leading_count(cells.text("max_num_seqs"));
  row.max_num_batched_tokens = leading_count(cells.text("max_num_batched_tokens"));
  row.kv_capacity_tokens = leading_count(cells.text("kv_capacity_tokens"));
  for (const char* metric : {"ttft", "tpot", "itl", "e2e"}) read_latency(cells, metric, row);
  // Below overload an open loop delivers what is asked of it: that says nothing about the engine.
  const std::string suffix = row.load == RowLoad::open_loop ? "_open_loop" : "";
  const auto rate = [&](const char* column, const std::string& metric) {
    if (const auto value = cells.number(column); value && *value > 0.0) row.figures.push_back({metric + suffix, *value});
  };
  rate("output_tput_tok_s", "throughput");
  rate("total_tput_tok_s", "total_throughput");
  rate("req_throughput", "request_throughput");
}

ServingRow read_point(const CsvTable& table, const CsvTable::Row& cells) {
  ServingRow row = common(table, cells);
  row.engine = cells.text("backend"), row.engine_version = cells.text("version");
  row.weight_dtype = cells.text("precision");
  row.input = cells.number("isl").value_or(0.0), row.output = cells.number("osl").value_or(0.0);
  row.load = RowLoad::closed_loop;
  row.concurrency = leading_count(cells.text("concurrency"));
  // Dumps of InferenceX's database carry a date; its clients draw lengths from 0.8 to 1.0 of the nominal ones.
  if (row.source.find("/20") != std::string::npos) row.length_dist = "uniform in [0.8,1.0] x nominal";
  const double attention_dp = cells.number("attn_dp").value_or(1.0), experts = cells.number("moe_ep").value_or(1.0);
  if (attention_dp > 1.0 || experts > 1.0) row.ep_dp = fmt::format("attention-DP{}+EP{}", attention_dp, experts);
  row.id = fmt::format("{}-{}-{}-{}-tp{}-{}-{}-c{}", row.gpu, row.engine, row.model, row.weight_dtype, row.tp, row.input, row.output,
                       row.concurrency.value_or(0));
  if (const auto value = cells.number("ttft_ms"); value && *value > 0.0) row.figures.push_back({"ttft", *value});
  if (const auto value = cells.number("tpot_ms"); value && *value > 0.0) row.figures.push_back({"tpot", *value});
  return row;
}

}  // namespace

std::vector<ServingRow> read_serving_rows(const std::filesystem::path& file) { return read_serving_rows(CsvTable::load(file)); }

std::vector<ServingRow> read_serving_rows(const CsvTable& table) {
  const bool points = table.has("isl") && table.has("ttft_ms");
  const bool throughput = table.has("scenario") && table.has("value"), batch = table.has("batch") && table.has("value");
  const bool serving = table.has("ttft_mean_ms");
  if (!points && !throughput && !batch && !serving) {
    throw ConfigError(Diagnostic{{table.file(), 1, 1}, {}, "no serving measurements: expected the columns of throughput.csv (scenario, metric, value), "
                                 "batch_latency.csv (batch, metric, value), serving_latency.csv (ttft_mean_ms, …) or serving points (isl, osl, ttft_ms)"});
  }
  std::vector<ServingRow> rows;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvTable::Row cells = table.row(i);
    if (points) {
      rows.push_back(read_point(table, cells));
      continue;
    }
    ServingRow row = common(table, cells);
    if (throughput) read_throughput(cells, row);
    else if (batch) read_batch_latency(cells, row);
    else read_serving_latency(cells, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ridgeline
