#include "hardware/device.hpp"

#include "hardware/elementwise.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

std::unique_ptr<DeviceModel> device_of(const char* name) {
  const GpuSpec gpu = load_gpu(name);
  return make_device_model(gpu, default_node(gpu), 8, load_calibration(gpu));
}

Op gemm(std::int64_t m, std::int64_t n, std::int64_t k, DType math = DType::bf16) {
  const double bits_each = bits(math);
  GemmShape shape{m, n, k, math, math, bits_each, false, false};
  Op op{"gemm", shape, 1, Flops{2.0 * static_cast<double>(m * n) * static_cast<double>(k)}, {}, {}, {}};
  op.weight_bytes = Bytes{static_cast<std::int64_t>(static_cast<double>(n * k) * bits_each / 8)};
  op.activation_bytes = Bytes{2 * (m * k + m * n)};
  return op;
}

/// One op of every kind.
std::vector<Op> samples() {
  AttentionShape attention{32, 8, 128, 128, 0, true, DType::bf16, 16.0, 16, Tokens{16}, Tokens{16'000}, {}, false};
  return {gemm(1, 4096, 4096),
          gemm(4096, 4096, 4096),
          {"attention", attention, 1, Flops{2.0 * 32 * 256 * 16'000}, {}, Bytes{16'000 * 4096}, Bytes{16 * 32 * 256 * 2}},
          {"norm", ElementwiseShape{ElementwiseFamily::residual_norm, 16, 4096}, 1, {}, {}, {}, Bytes{16 * 4096 * 8}},
          {"sampler", ElementwiseShape{ElementwiseFamily::sampling, 16, 128'256}, 1, {}, {}, {}, Bytes{16 * 128'256 * 2}},
          {"moe", MoeShape{64, 4096, 1792, 8, 8, 2}, 1, Flops{64 * 2 * 6.0 * 4096 * 1792}, Bytes{8 * 3 * 4096 * 1792 * 2}, {}, Bytes{1 << 20}},
          {"all_reduce", CollectiveShape{CollectiveKind::all_reduce, 128_KiB, 8, true}, 1, {}, {}, {}, 128_KiB}};
}

}  // namespace

TEST_CASE("every GPU prices every operator, and the causes sum to the time") {
  for (const std::string& name : gpu_names()) {
    CAPTURE(name);
    const GpuSpec gpu = load_gpu(name);
    if (default_node(gpu).gpus_per_node < 8) continue;
    const auto device = device_of(name.c_str());
    for (const Op& op : samples()) {
      CAPTURE(op.name);
      const OpPrice price = device->price(op);
      CHECK(price.time > Duration{});
      CHECK(price.by_cause.total() == price.time);
      CHECK(price.by_cause[Cause::host] == Duration{});
    }
  }
}

TEST_CASE("time goes to what bounds the operator") {
  const auto device = device_of("h100-sxm-80gb");
  const OpPrice decode = device->price(gemm(1, 8192, 8192));
  CHECK(decode.by_cause[Cause::weights] > decode.by_cause[Cause::compute]);
  const OpPrice prefill = device->price(gemm(8192, 8192, 8192));
  CHECK(prefill.by_cause[Cause::compute] > prefill.by_cause[Cause::weights]);
  const OpPrice reduced = device->price(samples().back());
  CHECK(reduced.by_cause[Cause::communication] == reduced.time);
}

TEST_CASE("the split of a memory-bound price follows the bytes") {
  // 10 us, 2 fixed; the other 8 go 6:1:1 with 6, 1 and 1 MB.
  Op op = gemm(1, 1, 1);
  op.weight_bytes = Bytes{6'000'000};
  op.kv_bytes = op.activation_bytes = Bytes{1'000'000};
  const TimeByCause parts = split_by_cause(op, {Duration::microseconds(2), Duration::microseconds(1), Duration::microseconds(7),
                                               Duration::microseconds(10)});
  CHECK(parts[Cause::overhead] == Duration::microseconds(2));
  CHECK(parts[Cause::weights] == Duration::microseconds(6));
  CHECK(parts[Cause::kv] == Duration::microseconds(1));
  CHECK(parts[Cause::activations] == Duration::microseconds(1));
}

TEST_CASE("the pure roofline is datasheet arithmetic") {
  // 2 * 4096^3 / 989.4e12 = 138.9 us against 3 * 4096^2 * 2 B / 3.35e12 = 30 us.
  const auto roofline = make_roofline_model(load_gpu("h100-sxm-80gb"), pure_roofline);
  CHECK(roofline->price(gemm(4096, 4096, 4096)).time.microseconds() == Approx(138.9).margin(0.1));
  CHECK(roofline->price(gemm(4096, 4096, 4096)).provenance == Provenance::datasheet);
}

TEST_CASE("send/recv between pipeline stages leaves the node once a stage fills it") {
  const GpuSpec gpu = load_gpu("h100-sxm-80gb");
  const NodeType node = default_node(gpu);
  const Calibration calibration = load_calibration(gpu);
  const Op op{"send", CollectiveShape{CollectiveKind::send_recv, 8_MiB, 2, true}, 1, {}, {}, {}, 8_MiB};
  CHECK(make_device_model(gpu, node, 8, calibration)->price(op).time > make_device_model(gpu, node, 4, calibration)->price(op).time);
}
