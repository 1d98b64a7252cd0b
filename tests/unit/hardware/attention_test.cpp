#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "hardware/attention_fit.hpp"
#include "hardware/calibration.hpp"
#include "sim/base/config.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

namespace ridgeline {
namespace {

AttentionParameters parameters_of(const std::string& gpu) {
  const Calibration calibration = load_calibration(load_gpu(gpu));
  REQUIRE(calibration.attention_decode->provenance == Provenance::fitted);
  REQUIRE(calibration.attention_prefill->provenance == Provenance::fitted);
  AttentionParameters parameters{calibration.attention_decode->parameters, std::nullopt, calibration.attention_prefill->parameters};
  const auto& kv8 = calibration.attention_decode_kv8;
  if (kv8 && kv8->provenance == Provenance::fitted) parameters.decode_kv8 = kv8->parameters;
  return parameters;
}

AttentionShape heads(std::int64_t query, std::int64_t kv, std::int64_t dim) {
  AttentionShape shape;
  shape.query_heads = query;
  shape.kv_heads = kv;
  shape.head_dim = dim;
  return shape;
}

AttentionShape decode(AttentionShape shape, std::int64_t sequences, std::int64_t context) {
  shape.decode_sequences = sequences;
  shape.decode_queries = Tokens{sequences};
  shape.decode_context = Tokens{sequences * context};
  return shape;
}

const std::vector<std::string> calibrated{"a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm", "b200", "rtx-pro-6000"};

TEST_CASE("Decode attention rises with batch and context and never beats the memory", "[attention]") {
  for (const std::string& name : calibrated) {
    INFO(name);
    const GpuSpec gpu = load_gpu(name);
    const AttentionParameters parameters = parameters_of(name);
    for (const auto& shape : {heads(32, 8, 128), heads(64, 8, 64), heads(32, 32, 128), heads(16, 1, 256)}) {
      for (const bool in_l2 : {false, true}) {
        std::map<std::int64_t, Duration> previous;  // by context
        for (std::int64_t batch = 1; batch <= 300; ++batch) {
          Duration shorter;
          for (std::int64_t context = 128; context <= 32768; context *= 2) {
            AttentionShape call = decode(shape, batch, context);
            call.kv_in_l2 = in_l2;
            const Duration time = price(call, parameters, gpu).total;
            REQUIRE(time > shorter);
            // A wave with SMs to spare takes one more sequence for nothing but its bytes, which may hide below a picosecond.
            REQUIRE(time >= previous[context]);
            previous[context] = shorter = time;
            const Bytes kv{static_cast<std::int64_t>(kv_bytes_per_token(call)) * batch * context};
            if (!in_l2 || kv > gpu.l2 * std::int64_t{3}) REQUIRE(time >= kv / gpu.memory_bandwidth);
          }
        }
      }
    }
  }
}

TEST_CASE("A group of query heads reads its KV cache once", "[attention]") {
  // Llama-3.1-8B has 32 layers of 8 KV heads of 128: 131,072 B a token; the MHA Llama-2-7B 524,288 B.
  CHECK(kv_bytes_per_token(heads(32, 8, 128)) * 32 == 131072.0);
  CHECK(kv_bytes_per_token(heads(32, 32, 128)) * 32 == 524288.0);
  AttentionShape fp8 = heads(32, 8, 128);
  fp8.kv_bits = 8.0;
  CHECK(kv_bytes_per_token(fp8) * 32 == 65536.0);
  AttentionShape latent = heads(128, 1, 576);  // MLA: V is the first 512 of the 576 cached values
  latent.value_dim = 512;
  CHECK(kv_bytes_per_token(latent) == 1152.0);

  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  const AttentionParameters parameters = parameters_of("h100-sxm-80gb");
  const Duration grouped = price(decode(heads(32, 8, 128), 64, 8192), parameters, gpu).total;
  const Duration full = price(decode(heads(32, 32, 128), 64, 8192), parameters, gpu).total;
  const double ratio = full.seconds() / grouped.seconds();
  CHECK(ratio > 3.6);  // four times the bytes, the same fixed cost
  CHECK(ratio < 4.1);
}

TEST_CASE("Single measured calls are met", "[attention]") {
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  const AttentionParameters parameters = parameters_of("h100-sxm-80gb");
  // vLLM 0.24 on H100, 32 query and 8 KV heads of 128 (aiconfigurator): 64 sequences of 8192, prompts of 4096.
  CHECK(price(decode(heads(32, 8, 128), 64, 8192), parameters, gpu).total.microseconds() == Approx(688.2).epsilon(0.08));
  AttentionShape prompt = heads(32, 8, 128);
  const std::vector<PrefillChunk> chunks{{Tokens{4096}, Tokens{0}}};
  prompt.chunks = chunks;
  CHECK(price(prompt, parameters, gpu).total.microseconds() == Approx(264.3).epsilon(0.12));
}

TEST_CASE("What a prefill call sees decides its price", "[attention]") {
  for (const std::string& name : calibrated) {
    INFO(name);
    const GpuSpec gpu = load_gpu(name);
    const AttentionParameters parameters = parameters_of(name);
    const auto time = [&](std::vector<PrefillChunk> chunks, std::int64_t window = 0, bool causal = true) {
      AttentionShape shape = heads(32, 8, 128);
      shape.window = window;
      shape.causal = causal;
      shape.chunks = chunks;
      return price(shape, parameters, gpu).total;
    };
    const auto chunk = [](std::int64_t tokens, std::int64_t history) { return PrefillChunk{Tokens{tokens}, Tokens{history}}; };
    CHECK(time({}) == Duration{});
    CHECK(time({chunk(2048, 0)}) > time({chunk(1024, 0)}));
    CHECK(time({chunk(1024, 4096)}) > time({chunk(1024, 0)}));
    CHECK(time({chunk(1024, 0), chunk(1024, 0)}) > time({chunk(1024, 0)}));
    CHECK(time({chunk(8192, 0)}, 0, false) > time({chunk(8192, 0)}));
    CHECK(time({chunk(8192, 0)}, 1024) < time({chunk(8192, 0)}));
    CHECK(time({chunk(8192, 0)}, 100000) == time({chunk(8192, 0)}));
    // In pieces a prompt costs no less than at once: the same keys are visited and every call has its fixed cost.
    CHECK(time({chunk(2048, 0)}) + time({chunk(2048, 2048)}) > time({chunk(4096, 0)}));
    // Decodes beside a chunk cost more than either alone.
    const std::vector<PrefillChunk> chunks{chunk(512, 0)};
    AttentionShape mixed = decode(heads(32, 8, 128), 16, 4096);
    const Duration alone = price(mixed, parameters, gpu).total;
    mixed.chunks = chunks;
    CHECK(price(mixed, parameters, gpu).total > alone);
    CHECK(price(mixed, parameters, gpu).total > time({chunk(512, 0)}));
    // Verifying drafts: more rows, no less time.
    AttentionShape drafts = decode(heads(32, 8, 128), 16, 4096);
    drafts.decode_queries = Tokens{16 * 5};
    CHECK(price(drafts, parameters, gpu).total >= alone);
  }
}

TEST_CASE("Mistakes in attention parameters are named", "[attention]") {
  Diagnostics errors;
  const Config node = Config::parse("kernel: flash_atention_2\nlaunch: 8 us\ntile_efficiency: 1.2\n", "x.yaml");
  MapReader map(node, errors);
  read_attention_decode_parameters(map);
  CHECK(errors.size() == 11);  // the kernel's name, the efficiency above one, nine keys missing
}

TEST_CASE("A fit finds the parameters that made the times", "[attention]") {
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  const AttentionDecodeParameters truth = parameters_of("h100-sxm-80gb").decode;
  std::vector<AttentionMeasurement> rows;
  for (const auto& shape : {heads(32, 8, 128), heads(8, 1, 128), heads(64, 8, 64), heads(16, 4, 256)}) {
    for (const std::int64_t batch : {1, 3, 8, 40, 120, 500}) {
      for (const std::int64_t context : {64, 500, 2000, 8192, 50000}) {
        AttentionMeasurement row{decode(shape, batch, context), {}, 0.0};
        row.shape.kv_in_l2 = true;
        row.time_us = price_decode(row.shape, truth, gpu).total.microseconds();
        rows.push_back(row);
      }
    }
  }
  FitOptions options;
  options.starts = 2;
  const FitResult found = fit(attention_decode_problem(gpu, truth.kernel, rows), options);
  CHECK(found.in_sample.mape < 0.005);
  CHECK(found.cross_validated.mape < 0.01);
  CHECK(found.values()[0] == Approx(truth.launch.microseconds()).epsilon(0.03));
}

// --- accuracy over the shared measurements ---

struct Row {
  std::map<std::string, std::string> cells;
  [[nodiscard]] std::int64_t integer(const std::string& column) const { return std::stoll(cells.at(column)); }
  [[nodiscard]] double time_us() const { return std::stod(cells.at("time_us")); }
};

std::vector<Row> read_rows(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::string cell;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::vector<std::string> values;
    while (std::getline(cells, cell, ',')) values.push_back(cell);
    if (columns.empty()) {
      columns = values;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < columns.size() && i < values.size(); ++i) row.cells[columns[i]] = values[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Mape {
  double sum = 0.0;
  int rows = 0;
  void add(Duration price, double measured_us) {
    sum += std::abs(price.microseconds() / measured_us - 1.0);
    ++rows;
  }
  [[nodiscard]] double value() const { return rows > 0 ? sum / rows : 0.0; }
};

TEST_CASE("Prices follow measured attention calls", "[attention][accuracy]") {
  REQUIRE_SHARED_OR_SKIP(shared);
  struct Case {
    std::string gpu;
    std::string file;
    double decode, decode_beyond_l2, prefill;
  };
  const std::vector<Case> cases{{"a100-sxm-80gb", "A100-SXM-80GB", 0.06, 0.06, 0.07},
                                {"h100-sxm-80gb", "H100-SXM-80GB", 0.06, 0.05, 0.085},
                                {"h200-sxm", "H200-SXM-141GB", 0.06, 0.05, 0.08},
                                {"b200", "B200-SXM-180GB", 0.06, 0.04, 0.085},
                                {"rtx-pro-6000", "RTX-PRO-6000-SE", 0.075, 0.03, 0.085}};
  for (const Case& test : cases) {
    INFO(test.gpu);
    const GpuSpec gpu = load_gpu(test.gpu);
    const AttentionParameters parameters = parameters_of(test.gpu);
    Mape all, beyond;
    for (const Row& row :
         read_rows(shared / "data/measured" / ("attention-decode_" + test.file + "_aiconfigurator.csv"))) {
      AttentionShape shape = heads(row.integer("num_q_heads"), row.integer("num_kv_heads"), row.integer("head_dim"));
      shape = decode(shape, row.integer("batch"), row.integer("kv_len"));
      shape.kv_in_l2 = true;  // the benchmark replays one call
      shape.kv_bits = row.cells.at("kv_dtype") == "fp8" ? 8.0 : 16.0;
      const Duration time = price(shape, parameters, gpu).total;
      all.add(time, row.time_us());
      const double kv_bytes = shape.decode_context.as_double() * kv_bytes_per_token(shape);
      if (kv_bytes > 2.0 * gpu.l2.as_double()) beyond.add(time, row.time_us());
    }
    CHECK(all.value() < test.decode);
    CHECK(beyond.value() < test.decode_beyond_l2);
    Mape prefill;
    for (const Row& row :
         read_rows(shared / "data/measured" / ("attention-prefill_" + test.file + "_aiconfigurator.csv"))) {
      AttentionShape shape = heads(row.integer("num_q_heads"), row.integer("num_kv_heads"), row.integer("head_dim"));
      const std::int64_t tokens = row.integer("q_len");
      const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(row.integer("batch")),
                                             {Tokens{tokens}, Tokens{row.integer("kv_len") - tokens}});
      shape.chunks = chunks;
      prefill.add(price(shape, parameters, gpu).total, row.time_us());
    }
    CHECK(prefill.value() < test.prefill);
  }
}

TEST_CASE("Prices follow mixed batches measured inside an engine", "[attention][accuracy]") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const GpuSpec gpu = load_gpu("rtx-pro-6000");
  const AttentionParameters parameters = parameters_of("rtx-pro-6000");
  Mape mixed, decodes;
  for (const Row& row : read_rows(shared / "data/measured/attention-mixed_RTX-PRO-6000_llmservingsim.csv")) {
    AttentionShape shape = heads(row.integer("num_q_heads"), row.integer("num_kv_heads"), row.integer("head_dim"));
    if (row.integer("n_decode") > 0) shape = decode(shape, row.integer("n_decode"), row.integer("decode_kv_len"));
    std::vector<PrefillChunk> chunks;
    if (row.integer("prefill_q_len") > 0) {
      chunks.push_back({Tokens{row.integer("prefill_q_len")}, Tokens{row.integer("prefill_kv_history")}});
    }
    shape.chunks = chunks;
    (chunks.empty() ? decodes : mixed).add(price(shape, parameters, gpu).total, row.time_us());
  }
  CHECK(mixed.rows == 6398);
  CHECK(mixed.value() < 0.09);
  CHECK(decodes.rows == 57);  // fitted on another campaign, whose KV cache lay in the L2; here the layers sweep it
  CHECK(decodes.value() < 0.06);
}

}  // namespace
}  // namespace ridgeline
