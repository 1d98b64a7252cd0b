#include "hardware/gemm.hpp"

#include <cmath>

#include "hardware/calibration.hpp"
#include "hardware/csv_table.hpp"
#include "hardware/fit.hpp"
#include "hardware/quantise_input.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;

namespace {

GemmShape product(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return shape;
}

GemmModel model_of(const std::string& name) {
  const GpuSpec gpu = load_gpu(name);
  return GemmModel(gpu, DType::bf16, load_calibration(gpu).gemm.value().parameters);
}

const std::vector<std::string> calibrated{"a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm", "b200", "rtx-pro-6000"};

struct Judged {
  FitError all;
  FitError large;  // n and k at least 1024
};

/// Prices of the rows of one file and number format against their measurements.
template <class Price>
Judged judge(const std::filesystem::path& file, std::string_view dtype, Price price) {
  const CsvTable table = CsvTable::load(file);
  std::vector<double> priced, measured, large_priced, large_measured;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvTable::Row row = table.row(i);
    if (row.text("dtype") != dtype) continue;
    const auto whole = [&row](std::string_view column) { return static_cast<std::int64_t>(row.number(column).value()); };
    const GemmShape shape = product(whole("m"), whole("n"), whole("k"));
    priced.push_back(std::log(price(shape).microseconds()));
    measured.push_back(std::log(row.number("time_us").value()));
    if (shape.n < 1024 || shape.k < 1024) continue;
    large_priced.push_back(priced.back());
    large_measured.push_back(measured.back());
  }
  return {error_of(priced, measured), error_of(large_priced, large_measured)};
}

}  // namespace

TEST_CASE("a product is never faster than the roofline at datasheet peaks", "[gemm]") {
  for (const std::string& name : calibrated) {
    const GpuSpec gpu = load_gpu(name);
    const GemmModel model = model_of(name);
    for (const std::int64_t m : {1, 16, 129, 1024, 16384}) {
      for (const std::int64_t n : {1024, 4096, 28672}) {
        for (const std::int64_t k : {1024, 8192, 16384}) {
          const GemmShape shape = product(m, n, k);
          const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
          const Duration compute = Flops{flops} / gpu.peak(DType::bf16);
          const Duration weights = Bytes{2 * n * k} / gpu.memory_bandwidth;
          INFO(name << " m=" << m << " n=" << n << " k=" << k);
          CHECK(model.price(shape).total > compute);
          CHECK(model.price(shape).total > weights);
        }
      }
    }
  }
}

TEST_CASE("a larger product does not cost less beyond tile quantisation", "[gemm]") {
  for (const std::string& name : calibrated) {
    const GemmModel model = model_of(name);
    for (std::int64_t size = 256; size <= 16384; size *= 2) {
      const double base = model.price(product(512, size, 4096)).total.seconds();
      INFO(name << " size=" << size);
      CHECK(model.price(product(512, 2 * size, 4096)).total.seconds() > 0.99 * base);
      CHECK(model.price(product(1024, size, 4096)).total.seconds() > 0.99 * base);
      CHECK(model.price(product(512, size, 8192)).total.seconds() > 0.99 * base);
    }
  }
}

TEST_CASE("a price lies between its largest part and the sum of its parts", "[gemm]") {
  const GemmModel model = model_of("h100-sxm-80gb");
  for (const std::int64_t m : {1, 64, 300, 4096}) {
    const FamilyPrice price = model.price(product(m, 5120, 5120));
    const Duration rounding = Duration::picoseconds(2);
    CHECK(price.total + rounding >= price.fixed + std::max(price.compute, price.memory));
    CHECK(price.total <= price.fixed + price.compute + price.memory + rounding);
  }
}

TEST_CASE("known products", "[gemm]") {
  // ai-dynamo/aiconfigurator @095f58a5, vLLM 0.24 collector, bf16; the noise floor is 5 to 10 %.
  const GemmModel h100 = model_of("h100-sxm-80gb");
  CHECK(h100.price(product(1, 8192, 8192)).total.microseconds() == Approx(46.0).epsilon(0.12));
  CHECK(h100.price(product(1024, 12288, 65536)).total.microseconds() == Approx(1942.7).epsilon(0.12));
  CHECK(h100.price(product(1, 128, 128)).total.microseconds() == Approx(2.67).epsilon(0.15));
  // DeepSeek's and Meta's 70B down projection at decode: 2 * 8192 * 28672 B / 3.35 TB/s = 140 us at the datasheet's rate.
  const Duration down = h100.price(product(16, 8192, 28672)).total;
  CHECK(down.microseconds() > 140.0);
  CHECK(down.microseconds() < 190.0);
}

TEST_CASE("weight-only quantisation saves memory time and nothing else", "[gemm]") {
  const GemmModel model = model_of("a100-sxm-80gb");
  GemmShape full = product(1, 8192, 8192);
  GemmShape narrow = full;
  narrow.weight = DType::int4;
  narrow.weight_bits = 4.16;
  // Decode is bound by weights: 134 MB against 35 MB. The Marlin paper reports up to 3.9 times on larger layers.
  const double speedup = model.price(full).total.seconds() / model.price(narrow).total.seconds();
  CHECK(speedup > 2.0);
  CHECK(speedup < 3.9);
  full.m = narrow.m = 8192;
  CHECK(model.price(narrow).total.seconds() == Approx(model.price(full).total.seconds()).epsilon(0.05));
}

TEST_CASE("weights that a campaign cycles through stay in a large L2", "[gemm]") {
  const GemmModel model = model_of("rtx-pro-6000");
  // 18.9 MB: six copies fit in 128 MiB; measured at 9 us, which is 2.1 TB/s on a 1.8 TB/s card.
  const GemmShape small = product(16, 3072, 3072);
  CHECK(model.price(small, Weights::streamed).memory > model.price(small, Weights::cycled).memory);
  const GemmShape large = product(16, 16384, 16384);
  CHECK(model.price(large, Weights::streamed).total.seconds() ==
        Approx(model.price(large, Weights::cycled).total.seconds()).epsilon(0.001));
}

TEST_CASE("16-bit products against measurements", "[gemm][shared]") {
  REQUIRE_SHARED_OR_SKIP(shared);
  struct Bar {
    std::string gpu, file;
    double all, large, large_p90;
  };
  // In-sample; unseen shapes are at most a percentage point worse (`error` in the calibrations).
  const std::vector<Bar> bars{{"a100-sxm-80gb", "A100-SXM-80GB", 0.09, 0.08, 0.18},
                              {"h100-sxm-80gb", "H100-SXM-80GB", 0.07, 0.07, 0.15},
                              {"h200-sxm", "H200-SXM-141GB", 0.07, 0.07, 0.15},
                              {"b200", "B200-SXM-180GB", 0.08, 0.08, 0.16},
                              {"rtx-pro-6000", "RTX-PRO-6000-SE", 0.10, 0.08, 0.18}};
  for (const Bar& bar : bars) {
    const GemmModel model = model_of(bar.gpu);
    const Judged judged = judge(shared / "data/measured" / ("gemm_" + bar.file + "_aiconfigurator.csv"), "bf16",
                                [&model](const GemmShape& shape) { return model.price(shape, Weights::cycled).total; });
    INFO(bar.gpu << ": all " << judged.all.mape << ", n,k >= 1024 " << judged.large.mape << ", p90 " << judged.large.p90);
    CHECK(judged.all.rows > 1000);
    CHECK(judged.all.mape < bar.all);
    CHECK(judged.large.mape < bar.large);
    CHECK(judged.large.p90 < bar.large_p90);
  }
}

TEST_CASE("fp8 products with activation quantisation against measurements", "[gemm][shared]") {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const auto& [name, file] : {std::pair{"h100-sxm-80gb", "H100-SXM-80GB"}, {"h200-sxm", "H200-SXM-141GB"}, {"b200", "B200-SXM-180GB"}}) {
    const GpuSpec gpu = load_gpu(name);
    const Calibration calibration = load_calibration(gpu);
    const GemmModel model(gpu, DType::fp8, calibration.gemm_fp8.value().parameters);
    const auto price = [&](GemmShape shape) {
      shape.math = shape.weight = DType::fp8;
      shape.weight_bits = 8.0;
      return Duration{model.price(shape, Weights::cycled).total +
             price_quantise_input(shape.m, shape.k, DType::fp8, calibration.quantise_input_fp8.value().parameters, gpu).total};
    };
    const Judged judged = judge(shared / "data/measured" / (std::string("gemm_") + file + "_aiconfigurator.csv"), "fp8", price);
    INFO(name << ": " << judged.all.mape);
    CHECK(judged.all.mape < 0.16);
  }
}

TEST_CASE("a GPU priced with a relative's parameters", "[gemm][shared]") {
  REQUIRE_SHARED_OR_SKIP(shared);
  struct Pair {
    std::string gpu, file, relative;
  };
  for (const Pair& pair : {Pair{"h100-sxm-80gb", "H100-SXM-80GB", "h200-sxm"}, Pair{"h200-sxm", "H200-SXM-141GB", "h100-sxm-80gb"},
                           Pair{"b200", "B200-SXM-180GB", "h200-sxm"}, Pair{"a100-sxm-80gb", "A100-SXM-80GB", "rtx-pro-6000"},
                           Pair{"rtx-pro-6000", "RTX-PRO-6000-SE", "a100-sxm-80gb"}}) {
    const GpuSpec gpu = load_gpu(pair.gpu);
    const GemmModel model(gpu, DType::bf16, load_calibration(load_gpu(pair.relative)).gemm.value().parameters);
    const Judged judged = judge(shared / "data/measured" / ("gemm_" + pair.file + "_aiconfigurator.csv"), "bf16",
                                [&model](const GemmShape& shape) { return model.price(shape, Weights::cycled).total; });
    INFO(pair.gpu << " by " << pair.relative << ": " << judged.all.mape);
    CHECK(judged.all.mape < 0.22);
  }
}
