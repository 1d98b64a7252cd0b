#include "hardware/validate_operators.hpp"

#include <filesystem>
#include <fstream>

#include "hardware/table_cost.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;

namespace {

Measurements read(const char* text) {
  Measurements measurements;
  read_measurements(CsvTable::parse(text, "sample.csv"), measurements);
  return measurements;
}

}  // namespace

TEST_CASE("CSV quirks: byte-order mark, comments, CRLF, no final newline, short lines") {
  const CsvTable table = CsvTable::parse("\xef\xbb\xbf# clocks locked\r\ngpu,op,time_us\r\nX, y ,1.5\r\nZ", "quirks.csv");
  REQUIRE(table.size() == 2);
  CHECK(table.row(0).line() == 3);
  CHECK(table.row(0).text("op") == "y");
  CHECK(table.row(0).number("time_us") == 1.5);
  CHECK(table.row(1).text("op").empty());
  CHECK_FALSE(table.row(1).number("time_us"));
  CHECK_THROWS_AS(CsvTable::parse("# nothing\n", "empty.csv"), ConfigError);
  CHECK_THROWS_AS(CsvTable::load("/"), ConfigError);
}

TEST_CASE("units are in the column's name") {
  const Measurements measurements = read("gpu,op,dtype,m,n,k,time_ms,source\nH100-SXM-80GB,gemm,bf16,16,4096,4096,0.012,mine\n");
  REQUIRE(measurements.rows.size() == 1);
  CHECK(measurements.rows[0].time == Duration::microseconds(12));
  CHECK(measurements.rows[0].work.flops.count() == 2.0 * 16 * 4096 * 4096);
  CHECK(measurements.rows[0].work.weight_bytes == Bytes{4096 * 4096 * 2});
}

TEST_CASE("rows that can't be priced are counted and named") {
  const OperatorValidation validation = validate_operators(read("gpu,op,dtype,m,n,k,time_us,source\n"
                                                                "H100-SXM-80GB,gemm,bf16,16,4096,4096,12,mine\n"
                                                                "H100-SXM-80GB,conv,bf16,16,4096,4096,12,mine\n"
                                                                "H100-SXM-80GB,gemm,int3,16,4096,4096,12,mine\n"
                                                                "H100-SXM-80GB,gemm,bf16,,4096,4096,12,mine\n"
                                                                "H100-SXM-80GB,gemm,bf16,16,4096,4096,-1,mine\n"
                                                                "Z9000,gemm,bf16,16,4096,4096,12,mine\n"));
  REQUIRE(validation.groups.size() == 1);
  CHECK(validation.groups[0].rows == 1);
  std::size_t skipped = 0;
  for (const SkippedRows& row : validation.skipped) {
    CHECK_FALSE(row.reason.empty());
    skipped += row.rows;
  }
  CHECK(skipped == 5);
  CHECK(validation.skipped.size() == 5);
  CHECK_THAT(to_json(validation), Catch::Contains("\"roofline_mape\"") && Catch::Contains("GPU `Z9000` is not in the catalog"));
}

TEST_CASE("group figures: mean, median, p90, worst first") {
  OperatorValidation validation = validate_operators(read("gpu,op,dtype,m,n,k,time_us,source\n"
                                                          "H100-SXM-80GB,gemm,bf16,16,4096,4096,12,a\n"
                                                          "H100-SXM-80GB,gemm,bf16,16,4096,4096,24,a\n"
                                                          "H100-SXM-80GB,gemm,bf16,16,4096,4096,12,b\n"));
  REQUIRE(validation.groups.size() == 2);
  const OperatorGroup& group = validation.groups[0];
  const double first = std::abs(validation.rows[0].error());
  const double second = std::abs(validation.rows[1].error());
  CHECK(group.mape == Approx((first + second) / 2));
  CHECK(group.median == Approx((first + second) / 2));
  CHECK(group.p90 == Approx(std::min(first, second) + 0.9 * std::abs(first - second)));
  CHECK(validation.rows[group.worst[0]].error() == (first > second ? validation.rows[0].error() : validation.rows[1].error()));
}

TEST_CASE("GPU labels of benchmarks and drivers") {
  CHECK(catalog_gpu("H100-80GB-HBM3") == "h100-sxm-80gb");
  CHECK(catalog_gpu("NVIDIA H100 80GB HBM3") == "h100-sxm-80gb");
  CHECK(catalog_gpu("NVIDIA A100-SXM4-80GB") == "a100-sxm-80gb");
  CHECK(catalog_gpu("H200-SXM-141GB") == "h200-sxm");
  CHECK(catalog_gpu("RTX-PRO-6000-SE") == "rtx-pro-6000");
  CHECK(catalog_gpu("l40s") == "l40s");
  CHECK(catalog_gpu("abacus").empty());
}

TEST_CASE("the table model interpolates between measured shapes and says where each price comes from") {
  const auto path = std::filesystem::temp_directory_path() / "ridgeline_table_test.csv";
  std::ofstream(path) << "gpu,op,dtype,m,n,k,time_us,source\n"
                         "h100-sxm-80gb,gemm,bf16,16,4096,4096,10,mine\nh100-sxm-80gb,gemm,bf16,64,4096,4096,40,mine\n";
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  const auto model = make_table_model(path, gpu, make_roofline_model(gpu, usual_roofline));
  const auto price = [&](std::int64_t m) {
    GemmShape shape;
    shape.m = m;
    shape.n = shape.k = 4096;
    return model->price({"gemm", shape, 1, Flops{2.0 * static_cast<double>(m) * 4096 * 4096}, Bytes{1 << 25}, {}, {}});
  };
  CHECK(price(16).time == Duration::microseconds(10));
  // Half-way in the logarithm of m lies half-way in the logarithm of time: sqrt(10 * 40) = 20 us at m = 32.
  CHECK(price(32).time.microseconds() == Approx(20.0));
  CHECK(price(32).provenance == Provenance::measured);
  CHECK(price(32).by_cause.total() == price(32).time);
  CHECK(price(128).provenance == Provenance::datasheet);
  CHECK_THROWS_WITH(make_table_model(path, load_gpu("l4"), make_roofline_model(gpu, usual_roofline)), Catch::Contains("no operator measurement"));
  std::filesystem::remove(path);
}

TEST_CASE("collectives and elementwise kernels stay within their accuracy bars") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const auto measured = shared / "data" / "measured";
  std::vector<std::filesystem::path> files;
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB", "H200-SXM-141GB", "B200-SXM-180GB", "RTX-PRO-6000-SE"}) {
    files.push_back(measured / (std::string("collective_") + gpu + "_aiconfigurator.csv"));
  }
  for (const char* name : {"A100-80GB_vidur", "H100-80GB_vidur", "RTX-PRO-6000_llmservingsim"}) {
    files.push_back(measured / (std::string("elementwise_") + name + ".csv"));
  }
  for (const OperatorGroup& group : validate_operators(files).groups) {
    CAPTURE(group.gpu, group.op, group.source, group.mape);
    const bool collective = group.dtype.empty();
    CHECK(group.mape < (collective ? 0.12 : 0.14));
    CHECK(group.mape < group.roofline_mape);
  }
}
