// Reading published benchmarks and request logs, the scenarios they state, and how errors are summed up.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "scenarios/validate/requests.hpp"
#include "scenarios/validate/serving.hpp"
#include "scenarios/validate/serving_names.hpp"
#include "scenarios/validate/serving_scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<ServingRow> rows_of(const std::string& csv) { return read_serving_rows(CsvTable::parse(csv, "test.csv")); }

const std::string throughput_header =
    "id,engine,engine_version,scenario,gpu,num_gpus,tp,pp,ep_dp,model,weight_dtype,kv_dtype,input_len,output_len,num_requests,"
    "concurrency_or_batch,max_batch_size,max_num_tokens,kv_mem_fraction,metric,value,unit,quality,notes\n";

}  // namespace

TEST_CASE("Cells in quotes may hold commas and quotes") {
  const CsvTable table = CsvTable::parse("a,b,c\n1,\"x, \"\"y\"\"\",3\n", "test.csv");
  CHECK(table.row(0).text("b") == "x, \"y\"");
  CHECK(table.row(0).number("c") == 3.0);
}

TEST_CASE("A throughput row: per-GPU figures count for the whole system, limits and policy reach the engine") {
  const auto rows = rows_of(throughput_header +
                            "r1,tensorrt-llm,0.10.0,offline_inflight,H100-SXM,4,4,1,,llama-3-70b,fp8,fp8,128,256,100,,64,2048,0.8,"
                            "output_throughput_per_gpu,500,tok/s/GPU,B,\"max_utilization, chunked context\"\n");
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].figures.size() == 1);
  CHECK(rows[0].figures[0].value == 2000.0);  // 4 GPUs x 500
  const StatedScenario stated = stated_scenario(rows[0]);
  REQUIRE(stated.scenario);
  const Pool& pool = stated.scenario->fleet[0];
  CHECK(pool.tensor_parallel_size == 4);
  CHECK(pool.replicas == 1);
  CHECK(pool.engine.max_num_seqs == 64);
  CHECK(pool.engine.max_num_batched_tokens == 2048);
  CHECK(pool.engine.capacity_policy == "max_utilization");
  CHECK(pool.engine.enable_chunked_prefill);
  CHECK(pool.gpu_memory_utilization == 0.8);
  CHECK(stated.kind == "dense");
}

TEST_CASE("Rows that can't be run say why") {
  const auto reason_of = [](const std::string& cells) { return stated_scenario(rows_of(throughput_header + cells)[0]).reason; };
  const std::string tail = ",fp16,fp16,128,128,10,,,,,output_throughput,100,tok/s,B,\n";
  CHECK(mentions(reason_of("r,tensorrt-llm,1,offline_inflight,H100-SXM,2,1,2,,llama-2-7b" + tail), "pipeline"));
  CHECK(mentions(reason_of("r,vllm,0.9,offline_inflight,H100-SXM,8,8,1,EP8,llama-2-7b" + tail), "expert"));
  CHECK(mentions(reason_of("r,vllm,0.9,offline_inflight,TPU-v5,1,1,1,,llama-2-7b" + tail), "GPU"));
  CHECK(mentions(reason_of("r,vllm,0.9,offline_inflight,H100-SXM,1,1,1,,unknown-7b" + tail), "model"));
  CHECK(mentions(reason_of("r,llama.cpp,1,offline_inflight,H100-SXM,1,1,1,,llama-2-7b" + tail), "engine"));
  const FigureValidation validation =
      validate_serving(rows_of(throughput_header + "r,vllm,0.9,offline_inflight,TPU-v5,1,1,1,,llama-2-7b" + tail), {});
  CHECK(validation.figures.empty());
  REQUIRE(validation.skipped.size() == 1);
  CHECK(validation.skipped[0].rows == 1);
}

TEST_CASE("Engine versions choose profiles") {
  struct Row {
    const char *engine, *version, *date, *profile;
  };
  for (const Row& row : {Row{"vllm", "0.6.1", "", "vllm-v0"}, Row{"vllm", "vllm/vllm-openai:v0.11.2", "", "vllm-0.11"},
                         Row{"vllm", "0.23.0 (+patch)", "", "vllm-main-2026"}, Row{"vllm", "", "2024-08", "vllm-v0"},
                         Row{"vllm", "", "", "vllm-0.11"}, Row{"sglang", "0.5.6", "", "sglang"}, Row{"trtllm", "1.0", "", "tensorrt-llm"},
                         Row{"llama.cpp", "", "", ""}}) {
    INFO(row.engine << " " << row.version << " " << row.date);
    CHECK(serving_engine(row.engine, row.version, row.date, false).profile == row.profile);
  }
  CHECK(serving_engine("tensorrt-llm", "0.9", "", true).profile == "static");
  CHECK(serving_gpu("A100-SXM4-80GB (330 W power cap)") == "a100-sxm-80gb");
  CHECK(serving_gpu("H100-SXM") == "h100-sxm-80gb");
  CHECK(serving_model("meta-llama/Llama-3.1-8B-Instruct") == "llama-3.1-8b");
  CHECK(serving_model("Llama-3.3-70B") == "llama-3.1-70b");
}

TEST_CASE("A closed-loop row runs and its figures are compared; any number of threads gives the same answer") {
  const auto rows = rows_of(
      "gpu,backend,version,model,precision,isl,osl,concurrency,tp,attn_dp,moe_tp,moe_ep,ttft_ms,tpot_ms,source\n"
      "H100-SXM-80GB,vllm,0.11,meta-llama/Llama-3.1-8B,bf16,256,32,4,1,1,1,1,50,7,x/2026-01-01.csv\n"
      "H100-SXM-80GB,vllm,0.11,meta-llama/Llama-3.1-8B,bf16,256,32,8,1,1,1,1,50,7,x/2026-01-01.csv\n");
  CHECK(mentions(stated_scenario(rows[0]).yaml, "min: 205, max: 256"));  // 0.8 x 256 = 204.8
  const FigureValidation one = validate_serving(rows, {.jobs = 1}), two = validate_serving(rows, {.jobs = 2});
  REQUIRE(one.figures.size() == 4);
  CHECK(figures_csv(one) == figures_csv(two));
}

TEST_CASE("Groups state median, p90 and bias of relative errors") {
  FigureValidation validation;
  for (const double predicted : {90.0, 110.0, 120.0}) {
    validation.figures.push_back({.gpu = "g", .engine = "e", .model = "m", .kind = "dense", .metric = "ttft", .measured = 100.0, .predicted = predicted});
  }
  const FigureGroup group = group_figures(validation.figures).at(0);
  CHECK(group.rows == 3);
  CHECK(group.median == Approx(0.10));  // of 0.1, 0.1, 0.2
  CHECK(group.p90 == Approx(0.18));     // rank 1.8 between 0.1 and 0.2
  CHECK(group.bias == Approx(0.10));    // of -0.1, 0.1, 0.2
}

TEST_CASE("A replayed log sends each request when it was sent; the client's overhead adds to TTFT and E2E") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "ridgeline-request-log.csv";
  std::ofstream(file) << "arrival_us,send_us,input_tokens,output_tokens,ttft_ms,e2e_ms\n"
                         "0,1000,16,5,6,10\n"
                         "0,500000,16,1,6,6\n";
  const Scenario scenario = scenario_from(constant_cost());
  const std::vector<RequestLogFile> logs = read_request_logs(file);
  REQUIRE(logs.size() == 1);
  const ReplayedLog replayed = replay(logs[0], scenario, Duration::milliseconds(5));
  REQUIRE(replayed.requests.size() == 2);
  // 5 ms before the engine sees it, then one step of 1 ms for the prompt and one for each later token.
  CHECK(replayed.requests[0].ttft == Approx(6.0));
  CHECK(replayed.requests[0].e2e == Approx(10.0));
  CHECK(replayed.requests[1].e2e == Approx(6.0));
  for (const ValidatedFigure& figure : quantile_figures({replayed}, scenario).figures) CHECK(figure.error() == Approx(0.0).margin(1e-9));
  std::filesystem::remove(file);
}

TEST_CASE("TensorRT-LLM's cache is a fraction of what is left after loading") {
  const Pool pool = scenario_from(one_gpu("h100-sxm-80gb", "{profile: tensorrt-llm, free_gpu_memory_fraction: 0.5}")).fleet[0];
  const MemoryBudget& memory = *pool.memory;
  const double left = (memory.total - memory.non_torch - memory.weights.total()).as_double();
  CHECK(memory.kv.as_double() < 0.5 * left);        // workspaces are loaded as well
  CHECK(memory.kv.as_double() > 0.5 * left - 3e9);
}

TEST_CASE("SGLang shares what was free at start between weights and cache") {
  // engine-semantics section 3: 512 + 1.5 x 8,192 (chunk) + 128 (one rank) + 2 x 256 (graph batch) = 13,440 MiB are reserved, more than the
  // 10,240 of GPUs above 60 GiB; mem_fraction_static is rounded to three digits.
  const Pool pool = scenario_from(one_gpu("h100-sxm-80gb", "{profile: sglang}")).fleet[0];
  const double mib = pool.gpu->memory_visible.as_double() * 0x1p-20;
  CHECK(pool.gpu_memory_utilization == Approx(std::round((mib - 13440.0) / mib * 1000.0) / 1000.0));
  const MemoryBudget& memory = *pool.memory;
  const double free_at_start = (memory.total - memory.non_torch).as_double();
  CHECK(memory.kv.as_double() == Approx(free_at_start * pool.gpu_memory_utilization - memory.weights.total().as_double()).epsilon(1e-6));
}

TEST_CASE("Engines refuse each other's memory fractions by name") {
  CHECK(mentions(mistakes_in(one_gpu("h100-sxm-80gb", "{profile: sglang, gpu_memory_utilization: 0.9}")), "mem_fraction_static"));
  CHECK(mentions(mistakes_in(one_gpu("h100-sxm-80gb", "{profile: vllm-0.11, free_gpu_memory_fraction: 0.9}")), "gpu_memory_utilization"));
}
