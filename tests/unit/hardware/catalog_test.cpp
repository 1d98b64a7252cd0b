// GPU and node catalogs: complete, cited, and right where the field argues.
#include <cmath>

#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "sim/base/config.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

TEST_CASE("every catalog GPU is complete and cites its sources") {
  const std::vector<std::string> names = gpu_names();
  REQUIRE(names.size() >= 20);
  for (const std::string& name : names) {
    CAPTURE(name);
    const GpuSpec gpu = load_gpu(name);
    CHECK(gpu.name == name);
    CHECK_FALSE(gpu.sources.empty());
    CHECK(gpu.supports(DType::fp16));
    // Drivers keep up to a tenth (ECC, firmware) of what is sold; decimal and binary gigabytes differ by 7 %.
    const double visible = gpu.memory_visible.as_double() / gpu.memory_marketing.as_double();
    CHECK(visible > 0.95);
    CHECK(visible < 1.075);
    CHECK(gpu.idle.count() < 0.2 * gpu.tdp.count());
    const NodeType node = default_node(gpu);
    CHECK(std::find(node.gpus.begin(), node.gpus.end(), name) != node.gpus.end());
  }
}

TEST_CASE("the GPUs and nodes that scenarios name exist") {
  for (const char* name : {"a100-sxm-80gb", "a100-sxm-40gb", "a100-pcie-80gb", "h100-sxm-80gb", "h100-pcie-80gb", "h200-sxm", "l40s", "l4",
                           "a10g", "b200", "mi300x", "rtx-4090"}) {
    CHECK_NOTHROW(load_gpu(name));
  }
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx-h200", "hgx-b200", "pcie4-8gpu", "pcie5-8gpu", "mi300x-8gpu"}) {
    CHECK(load_node(name).gpus_per_node == 8);
  }
}

TEST_CASE("ridge points: peak over bandwidth") {
  // 989.4e12 / 3350e9 = 295.3; 312e12 / 2039e9 = 153.0 FLOP/B.
  CHECK(load_gpu("h100-sxm-80gb").ridge_point(DType::bf16) == Approx(295.3).margin(0.1));
  CHECK(load_gpu("a100-sxm-80gb").ridge_point(DType::bf16) == Approx(153.0).margin(0.1));
}

TEST_CASE("peaks are dense and absent where the silicon has no path") {
  CHECK(load_gpu("h100-sxm-80gb").peak(DType::fp8).count() == Approx(1978.9e12));
  CHECK_FALSE(load_gpu("a100-sxm-80gb").supports(DType::fp8));
  CHECK_FALSE(load_gpu("t4").supports(DType::bf16));
  CHECK(load_gpu("b200").peak(DType::fp4).count() == Approx(9000e12));
}

TEST_CASE("memory fractions apply to what the driver shows") {
  CHECK(load_gpu("rtx-4090").memory_visible == Bytes{25'250'627'584});
  CHECK(load_gpu("h100-sxm-80gb").memory_visible.as_double() / 0x1p30 == Approx(79.18));
}

TEST_CASE("an ambiguous or unknown GPU is refused with near matches") {
  CHECK_THROWS_WITH(load_gpu("h100"), Catch::Contains("unknown GPU `h100`") && Catch::Contains("h100-sxm-80gb") &&
                                          Catch::Contains("h100-pcie-80gb"));
  CHECK_THROWS_WITH(load_gpu("h200-smx"), Catch::Contains("did you mean `h200-sxm`"));
  CHECK_THROWS_AS(load_gpu("no/such/file.yaml"), ConfigError);
}

TEST_CASE("a user's GPU file reports every mistake at once") {
  const Config node = Config::parse("vendor: Acme\narchitecture: ada\npeaks: {bf16: 100}\nmemory_visible: 24\nsm: 12\n", "acme.yaml");
  try {
    read_gpu(node, "acme");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    for (const char* key : {"peaks.bf16", "fp16", "memory_visible", "memory_bandwidth", "sm_count", "tdp"}) {
      CAPTURE(key);
      CHECK(text.find(key) != std::string::npos);
    }
  }
}

TEST_CASE("a node's network cards are shared by its GPUs") {
  // 8 cards of 400 Gbit/s over 8 GPUs: 50 GB/s each; one card of 100 Gbit/s over 8: 1.5625 GB/s.
  CHECK(load_node("dgx-h100").nic_bandwidth_per_gpu().count() == Approx(50e9));
  CHECK(load_node("pcie4-8gpu").nic_bandwidth_per_gpu().count() == Approx(1.5625e9));
}
