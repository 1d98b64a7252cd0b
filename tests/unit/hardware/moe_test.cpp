#include "hardware/moe.hpp"

#include <cmath>

#include "hardware/calibration.hpp"
#include "hardware/fit.hpp"
#include "hardware/measurement.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;

namespace {

/// 128 experts, 8 a token, on one rank (Qwen3-30B-A3B).
MoeShape layer(std::int64_t tokens) {
  MoeShape shape;
  shape.tokens = tokens;
  shape.hidden = 2048;
  shape.intermediate = 768;
  shape.experts = shape.total_experts = 128;
  shape.top_k = 8;
  return shape;
}

MoeModel h100() {
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  return MoeModel(gpu, DType::bf16, load_calibration(gpu).moe.value().parameters);
}

}  // namespace

TEST_CASE("balanced picks go round the experts", "[moe]") {
  // 4 tokens * 8 picks = 32 experts; 16 tokens reach all 128.
  CHECK(expert_load(layer(4)).active == Approx(32.0));
  CHECK(expert_load(layer(16)).active == Approx(128.0));
  CHECK(expert_load(layer(1024)).rows == Approx(8192.0));
  // 64 rows an expert: one block of 64 each, or four of 16.
  CHECK(expert_load(layer(1024)).row_blocks(64.0) == Approx(128.0));
  CHECK(expert_load(layer(1024)).row_blocks(16.0) == Approx(512.0));
  MoeShape sharded = layer(16);
  sharded.experts = 16;  // of 128: eight ranks, 128 picks / 8
  CHECK(expert_load(sharded).rows == Approx(16.0));
  sharded.tokens = 1;
  CHECK(expert_load(sharded).active == Approx(1.0));  // the busiest rank has work
}

TEST_CASE("skewed picks leave experts idle and load one rank", "[moe]") {
  MoeShape shape = layer(64);
  shape.skew = 1.2;
  const ExpertLoad alone = expert_load(shape);
  // 60 draws of the generator behind the measurements: 118 of 128 experts active.
  CHECK(alone.active == Approx(118.0).epsilon(0.05));
  CHECK(alone.rows == Approx(512.0));
  shape.tokens = 16384;
  shape.experts = 16;
  // The same draws: the busiest of eight ranks has 2.2 times the mean.
  CHECK(expert_load(shape).rows == Approx(2.2 * 16384.0).epsilon(0.1));
  shape.experts = shape.total_experts = 128;
  CHECK(expert_load(shape).rows == Approx(131072.0));
  for (const double skew : {0.5, 1.0, 2.0, 3.0}) {
    shape.skew = skew;
    const ExpertLoad load = expert_load(shape);
    CHECK(load.active >= 1.0);
    CHECK(load.active <= 128.0);
  }
}

TEST_CASE("an expert layer costs at least the weights of its active experts", "[moe]") {
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  const MoeModel model = h100();
  Duration before;
  for (std::int64_t tokens = 1; tokens <= 16384; tokens *= 2) {
    const MoeShape shape = layer(tokens);
    const auto bytes = static_cast<std::int64_t>(expert_load(shape).active * 3.0 * 2048.0 * 768.0 * 2.0);
    const Duration total = model.price(shape).total;
    CHECK(total > Bytes{bytes} / gpu.memory_bandwidth);
    CHECK(total >= before);
    before = total;
  }
}

TEST_CASE("an ungated expert has two matrices instead of three", "[moe]") {
  const MoeModel model = h100();
  MoeShape shape = layer(64);
  shape.hidden = 4096;
  shape.intermediate = 4096;
  const double gated = model.price(shape).total.seconds();
  shape.gated = false;
  CHECK(model.price(shape).total.seconds() / gated == Approx(2.0 / 3.0).epsilon(0.05));
}

TEST_CASE("expert layers against measurements", "[moe][shared]") {
  REQUIRE_SHARED_OR_SKIP(shared);
  struct Bar {
    std::string gpu, file;
    double balanced, skewed;
  };
  for (const Bar& bar : {Bar{"h100-sxm-80gb", "H100-SXM-80GB", 0.10, 0.14}, Bar{"h200-sxm", "H200-SXM-141GB", 0.11, 0.14},
                         Bar{"b200", "B200-SXM-180GB", 0.12, 0.15}, Bar{"a100-sxm-80gb", "A100-SXM-80GB", 0.18, 0.25}}) {
    const GpuSpec gpu = load_gpu(bar.gpu);
    const MoeModel model(gpu, DType::bf16, load_calibration(gpu).moe.value().parameters);
    Measurements measurements;
    read_measurements(shared / "data/measured" / ("moe-fused_" + bar.file + "_aiconfigurator.csv"), measurements);
    std::vector<double> priced[2], measured[2];
    for (const Measurement& row : measurements.rows) {
      if (row.dtype != "bf16") continue;
      const auto& shape = std::get<MoeShape>(row.work.shape);
      const std::size_t skewed = shape.skew > 0.0 ? 1 : 0;
      priced[skewed].push_back(std::log(model.price(shape).total.seconds()));
      measured[skewed].push_back(std::log(row.time.seconds()));
    }
    const FitError balanced = error_of(priced[0], measured[0]);
    const FitError skewed = error_of(priced[1], measured[1]);
    INFO(bar.gpu << ": balanced " << balanced.mape << ", skewed " << skewed.mape);
    CHECK(balanced.mape < bar.balanced);
    CHECK(skewed.mape < bar.skewed);
  }
}
