// Start-up lines of real engines, kept outside the project: KV bytes and the number of tokens that follow from the
// memory.
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "models/kv_bytes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

namespace ridgeline {
namespace {

std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> read_csv(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> header = split_csv(line);
  std::vector<Row> rows;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = split_csv(line);
    Row row;
    for (std::size_t i = 0; i < std::min(header.size(), cells.size()); ++i) row[header[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

/// A plain number at the start of a cell, or 0.
double number(const std::string& cell) {
  try {
    return std::stod(cell);
  } catch (const std::exception&) {
    return 0.0;
  }
}

/// Catalog models with the attention geometry of the model in a row.
const std::map<std::string, std::string> geometry{{"Qwen2-7B-Instruct", "qwen2.5-7b"},
                                                  {"Qwen3-14B", "qwen3-14b"},
                                                  {"Llama-2-7B", "llama-2-7b"},
                                                  {"Mixtral-8x7B", "mixtral-8x7b"},
                                                  {"Llama-3.1-8B", "llama-3.1-8b"},
                                                  {"Llama-3.1-8B-Instruct", "llama-3.1-8b"},
                                                  {"Meta-Llama-3-8B-Instruct", "llama-3-8b"},
                                                  {"Llama-2-70B", "llama-2-70b"},
                                                  {"Qwen3-0.6B", "qwen3-0.6b"},
                                                  {"Qwen3-32B", "qwen3-32b"},
                                                  {"Qwen3-8B", "qwen3-8b"},
                                                  {"Qwen3-4B", "qwen3-4b"},
                                                  {"Llama-2-7B-GPTQ", "llama-2-7b"},
                                                  {"LlongOrca-7B-16k", "llama-2-7b"},
                                                  {"DeepSeek-R1-Distill-Qwen-14B", "qwen2.5-14b"},
                                                  {"Llama-3-70B", "llama-3-70b"},
                                                  {"Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.1-70b"},
                                                  {"deepseek-coder-6.7b-instruct", "llama-2-7b"},
                                                  {"Qwen1.5-7B", "llama-2-7b"},
                                                  {"openchat-3.5 (Mistral-7B)", "llama-3-8b"}};

}  // namespace

TEST_CASE("logged KV sizes follow from the memory that was left") {
  REQUIRE_SHARED_OR_SKIP(shared);
  int checked = 0;
  for (Row& row : read_csv(shared / "cases" / "kv_capacity.csv")) {
    const auto model_name = geometry.find(row["model"]);
    const double available = number(row["avail_kv_gib_per_gpu"]);
    const double reported = number(row["reported_blocks_or_tokens"]);
    const std::int64_t block = static_cast<std::int64_t>(number(row["block_size"]));
    const double bytes = number(row["kv_bytes_per_token_per_gpu"]);
    if (model_name == geometry.end() || available <= 0 || reported <= 0 || block <= 0 || bytes <= 0) continue;
    if (row["unit"] != "tokens" && row["unit"] != "blocks") continue;
    if (row["engine"] == "tensorrt-llm") continue;  // rounds its last block up
    // The lower rank decides in the log of the two 4090s: 7.46 GiB.
    const double gib = row["model"] == "DeepSeek-R1-Distill-Qwen-14B" ? 7.46 : available;
    INFO(row["model"] << " " << row["gpu"]);
    const ModelSpec model = load_model(model_name->second);
    const int ranks = static_cast<int>(number(row["tp"]));
    const KvFormat kv = kv_format(row["kv_dtype"] == "fp8" ? "fp8" : "auto", model);
    const KvLayout layout = kv_layout(model, kv, block, {.tensor_parallel_size = ranks});
    CHECK(kv_bytes_per_token(model, kv, {.tensor_parallel_size = ranks}).as_double() == bytes);
    const Bytes memory{static_cast<std::int64_t>(gib * 1073741824.0)};
    const double blocks = static_cast<double>(layout.blocks_in(memory));
    const double printed = row["unit"] == "blocks" ? blocks : blocks * static_cast<double>(block);
    // Memory is printed to 0.01 GiB.
    CHECK(std::abs(printed - reported) / reported <= 0.001 + 0.0051 / gib);
    ++checked;
  }
  CHECK(checked >= 15);
}

}  // namespace ridgeline
