#include "hardware/calibration.hpp"

#include <filesystem>
#include <fstream>

#include "sim/base/config.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

TEST_CASE("every calibration in the catalog belongs to a catalog GPU and reads without mistakes") {
  const std::vector<std::string> gpus = gpu_names();
  for (const std::string& name : calibration_names()) {
    CAPTURE(name);
    REQUIRE(std::find(gpus.begin(), gpus.end(), name) != gpus.end());
    CHECK_NOTHROW(load_calibration(load_gpu(name)));
  }
}

TEST_CASE("a measured GPU uses its own parameters, another one its relative's") {
  const Calibration h100 = load_calibration(load_gpu("h100-sxm-80gb"));
  CHECK(h100.collective->provenance == Provenance::fitted);
  const Calibration pcie = load_calibration(load_gpu("h100-pcie-80gb"));
  REQUIRE(pcie.attention_decode);
  CHECK(pcie.attention_decode->provenance == Provenance::family);
  CHECK(pcie.attention_decode->error > h100.attention_decode->error);
}

TEST_CASE("collectives are inherited by link, not by architecture") {
  // The A100 PCIe has an Ampere die but talks over PCIe 4, as the L40S.
  CHECK(load_calibration(load_gpu("a100-pcie-80gb")).collective->gpu == "l40s");
  CHECK(load_calibration(load_gpu("a100-sxm-40gb")).collective->gpu == "a100-sxm-80gb");
  CHECK(load_calibration(load_gpu("b300")).collective->gpu == "b200");
}

TEST_CASE("an inherited error stays within what a datasheet price would have") {
  for (const std::string& name : gpu_names()) {
    const Calibration calibration = load_calibration(load_gpu(name));
    CAPTURE(name);
    REQUIRE(calibration.elementwise);
    CHECK(calibration.elementwise->error <= datasheet_error);
    REQUIRE(calibration.collective);
    CHECK(calibration.collective->error <= datasheet_error);
  }
}

TEST_CASE("a user's calibration goes before the catalog's, family by family") {
  const auto path = std::filesystem::temp_directory_path() / "ridgeline_calibration_test.yaml";
  std::ofstream(path) << "gpu: h100-sxm-80gb\nelementwise:\n  source: mine\n  error: 0.02\n  parameters:\n    l2_speedup: 2\n"
                         "    l2_full: 0.5\n    l2_none: 1.0\n"
                         "    norm: &k {fixed: 1 us, row_latency: 0 us, traffic: 1}\n    residual_norm: *k\n    rope: *k\n"
                         "    gated_activation: *k\n    activation: *k\n    add: *k\n    embedding: *k\n    quantise: *k\n"
                         "    sampling: *k\n    layer_norm: *k\n";
  const Calibration calibration = load_calibration(load_gpu("h100-sxm-80gb"), path.string());
  CHECK(calibration.elementwise->source == "mine");
  CHECK(calibration.elementwise->parameters.of(ElementwiseFamily::norm).fixed == Duration::microseconds(1));
  CHECK(calibration.collective->source != "mine");
  std::ofstream(path) << "gemmm: {}\n";
  CHECK_THROWS_WITH(load_calibration(load_gpu("h100-sxm-80gb"), path.string()), Catch::Contains("gemmm") && Catch::Contains("gemm"));
  std::filesystem::remove(path);
}

TEST_CASE("elementwise kernels: fixed cost, rows, traffic and the L2") {
  ElementwiseParameters parameters;
  parameters.l2_speedup = 2.0;
  parameters.l2_full = 0.5;
  parameters.l2_none = 1.0;
  parameters.families.fill({Duration::microseconds(2), Duration::nanoseconds(0), 1.25});
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  // 100 MiB of add (6 B an element) in 50 MiB of L2: 1.25 * 104,857,600 B / 3.35e12 = 39.13 us, and 2 fixed.
  const ElementwiseShape large{ElementwiseFamily::add, 4096, 104'857'600 / 6 / 4096};
  CHECK(ideal_bytes(large).count() == Approx(104'857'600).epsilon(1e-3));
  CHECK(price(large, parameters, gpu).total.microseconds() == Approx(41.13).epsilon(1e-3));
  // 10 MiB lie in the L2: half of 3.913 us.
  const ElementwiseShape small{ElementwiseFamily::add, 4096, 10'485'760 / 6 / 4096};
  CHECK(price(small, parameters, gpu).total.microseconds() == Approx(2.0 + 3.913 / 2).epsilon(2e-3));
}
