// Real traces, where they are at hand, against their published statistics.
#include <nlohmann/json.hpp>

#include "tests/unit/workloads/support.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

WorkloadNotes notes_of_file(const std::filesystem::path& file, const std::string& more = "") {
  return notes_of("trace: " + file.string() + more);
}

}  // namespace

TEST_CASE("Azure 2023, Mooncake, BurstGPT and Vidur traces have their published statistics") {
  REQUIRE_SHARED_OR_SKIP(shared);
  // Rows, duration, CV, mean/p50/p90/p99 of input and output: shared/data/traces/README.md.
  const struct {
    const char* file;
    const char* format;
    std::int64_t rows, zero_rows;
    double duration, cv;
    double input[4], output[4];
  } rows[] = {
      {"azure_llm_2023/AzureLLMInferenceTrace_code.csv",
       "azure-2023 CSV",
       8819,
       0,
       3435.948,
       13.15,
       {2047.8, 1469, 5188, 7436},
       {27.9, 13, 55, 251}},
      {"azure_llm_2023/AzureLLMInferenceTrace_conv.csv",
       "azure-2023 CSV",
       19366,
       0,
       3501.722,
       1.09,
       {1154.7, 1020, 2734, 4142},
       {211.1, 129, 424, 601}},
      {"mooncake_fast25/conversation_trace.head7851.jsonl",
       "mooncake JSON lines",
       7851,
       0,
       2397.0,
       2.97,
       {12428.0, 7284, 27991, 89868},
       {347.1, 356, 606, 1168}},
      {"mooncake_fast25/synthetic_trace.head2597.jsonl",
       "mooncake JSON lines",
       2597,
       0,
       679.7,
       1.01,
       {13190.7, 5824, 36754, 57634},
       {183.9, 135, 436, 776}},
      {"vidur/splitwise_code.csv",
       "vidur CSV",
       8819,
       0,
       3435.948,
       13.15,
       {2047.8, 1469, 5188, 7436},
       {27.9, 13, 55, 251}},
  };
  for (const auto& row : rows) {
    INFO(row.file);
    const WorkloadNotes notes = notes_of_file(shared / "data" / "traces" / row.file);
    const auto& statistics = notes.statistics;
    CHECK(contains(notes.description, row.format));
    CHECK(notes.rows_read == row.rows);
    CHECK(statistics.count == row.rows - row.zero_rows);
    CHECK(notes.late_rows == 0);
    CHECK(statistics.duration.seconds() == Approx(row.duration).margin(0.06));
    CHECK(statistics.gap_cv == Approx(row.cv).margin(0.006));
    const auto check = [](const WorkloadStatistics::Lengths& read, const double (&published)[4]) {
      CHECK(read.mean == Approx(published[0]).margin(0.06));
      CHECK(read.p50 == Approx(published[1]).epsilon(0.001).margin(1));
      CHECK(read.p90 == Approx(published[2]).epsilon(0.001).margin(1));
      CHECK(read.p99 == Approx(published[3]).epsilon(0.002).margin(1));
    };
    check(statistics.input, row.input);
    check(statistics.output, row.output);
  }
}

TEST_CASE("BurstGPT releases 1 and 3") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const auto folder = shared / "data" / "traces" / "burstgpt";
  const WorkloadNotes first = notes_of_file(folder / "BurstGPT_1.rows1-196.csv", "\nnum_prompts: 1000");
  CHECK(first.rows_read == 196);
  CHECK(first.statistics.count == 196 - first.zero_rows);
  CHECK(first.zero_rows > 0);
  const WorkloadNotes kept =
      notes_of("trace: {file: " + (folder / "BurstGPT_1.rows1-196.csv").string() + ", zero_tokens: keep_as_one}");
  CHECK(kept.statistics.count == 196);
  CHECK(kept.statistics.duration.seconds() == Approx(33'627).margin(0.5));
  CHECK(kept.statistics.input.mean == Approx(593.9).margin(0.2));
  const WorkloadNotes third =
      notes_of("trace: {file: " + (folder / "BurstGPT_3.excerpt40.csv").string() + ", zero_tokens: keep_as_one}");
  CHECK(third.rows_read == 40);
  CHECK(third.statistics.input.mean == Approx(1617.3).margin(0.2));
}

TEST_CASE("Length-only files with arrivals of their own") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const auto traces = shared / "data" / "traces";
  const WorkloadNotes arxiv = notes_of_file(
      traces / "vidur" / "arxiv_summarization_stats_llama2_tokenizer_filtered_v2.head18800.csv", "\nrequest_rate: 2");
  CHECK(arxiv.statistics.count == 18'800);
  CHECK(arxiv.statistics.input.mean == Approx(2580.2).margin(0.06));
  const WorkloadNotes sharegpt =
      notes_of_file(traces / "sarathi" / "sharegpt_8k_filtered_stats_llama2_tokenizer.head20500.csv",
                    "\nmax_concurrency: 4\narrival: all_at_once");
  CHECK(sharegpt.statistics.count == 20'500);
  CHECK(sharegpt.statistics.output.mean == Approx(434.9).margin(0.06));
}

TEST_CASE("One sample of every other format") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const auto folder = shared / "data" / "traces" / "format_samples";
  const struct {
    const char* file;
    const char* format;
    std::int64_t count;
  } rows[] = {
      {"azure_llm_2024_code.notebook10.csv", "azure-2024 CSV", 10},
      {"azure_lmm_2025.notebook5.csv", "azure-lmm-2025 CSV", 5},
      {"frontier_prefix_cache_shared_session_trace.csv", "vidur CSV", 2},
      {"llmservingsim_example_trace.jsonl", "llmservingsim JSON lines", -1},
      {"splitwise_sim_test_trace.csv", "splitwise-sim CSV", 3},
      {"inference_perf_azure_trace_lf.csv", "azure-2023 CSV", -1},
      {"HANDWRITTEN_qwen_bailian.jsonl", "qwen-bailian JSON lines", 4},
  };
  for (const auto& row : rows) {
    INFO(row.file);
    const WorkloadNotes notes = notes_of_file(folder / row.file);
    CHECK(contains(notes.description, row.format));
    if (row.count >= 0) {
      CHECK(notes.statistics.count == row.count);
    } else {
      CHECK(notes.statistics.count > 1);
    }
  }
  CHECK(contains(complaint([&] { notes_of_file(folder / "HANDWRITTEN_mooncake_extended.jsonl"); }), ":4: `text_input`: prompts without"));
}

TEST_CASE("The scheduler cases say the same in requests.csv and trace.jsonl") {
  REQUIRE_SHARED_OR_SKIP(shared);
  namespace fs = std::filesystem;
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(shared / "cases" / "schedules")) {
    if (!fs::exists(entry.path() / "requests.csv")) continue;
    INFO(entry.path().string());
    const auto config = nlohmann::json::parse(std::ifstream(entry.path() / "config.json"));
    const int block = config.value("trace_block_size", 0);
    const auto table = requests_of("trace: " + (entry.path() / "requests.csv").string());
    const auto lines = requests_of("trace: {file: " + (entry.path() / "trace.jsonl").string() +
                                   (block > 0 ? ", trace_block_size: " + std::to_string(block) : "") + "}");
    REQUIRE(table.size() == lines.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      CHECK(ps(table[i]) == ps(lines[i]));  // to the picosecond, seconds against milliseconds
      CHECK(table[i].input == lines[i].input);
      CHECK(table[i].output == lines[i].output);
    }
    ++cases;
  }
  CHECK(cases == 180);
}
