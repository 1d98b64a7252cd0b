#include "models/precision.hpp"

#include "models/parameters.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

double gib(Bytes bytes) { return bytes.as_double() / 1073741824.0; }
double weights_gib(const char* name, const char* quantization) {
  return gib(weight_bytes(with_precision(load_model(name), quantization)).total());
}

}  // namespace

TEST_CASE("quantised weights include their scales; embeddings and head stay 16-bit") {
  // Llama-3.1-8B: linear weights 8,030,261,248 - 2 x 128256 x 4096 - 65 x 4096 norms = 6,979,321,856; the rest 2 bytes.
  const double linear = 6'979'321'856.0;
  const double rest = 2.0 * (8'030'261'248.0 - linear);
  const auto expected = [&](double bytes_per_weight) { return (linear * bytes_per_weight + rest) / 1073741824.0; };
  CHECK(weights_gib("llama-3.1-8b", "none") == Approx(expected(2.0)));
  CHECK(weights_gib("llama-3.1-8b", "fp8") == Approx(expected(1.0)));
  CHECK(weights_gib("llama-3.1-8b", "nvfp4") == Approx(expected(0.5625)));
  CHECK(weights_gib("llama-3.1-8b", "awq") == Approx(expected(0.51953125)));  // (4 + 20/128) / 8
  CHECK(weights_gib("llama-3.1-8b", "gptq") == Approx(expected(0.515625)));   // (4 + 16/128) / 8
  CHECK(weights_gib("llama-3.1-8b", "mxfp4") == Approx(expected(0.53125)));
  // Llama-3.1-405B as NVFP4: 228 GB published, against 202 GB of half a byte per parameter.
  CHECK(weights_gib("llama-3.1-405b", "nvfp4") * 1.073741824 == Approx(228.0).epsilon(0.03));
}

TEST_CASE("what multiplies depends on the method") {
  CHECK(weight_format("fp8", DType::bf16).math == DType::fp8);
  CHECK(weight_format("fp8", DType::bf16).quantises_input);
  CHECK(weight_format("int8", DType::bf16).math == DType::int8);
  CHECK(weight_format("awq", DType::fp16).math == DType::fp16);
  CHECK_FALSE(weight_format("awq", DType::fp16).quantises_input);
  CHECK(weight_format("nvfp4", DType::bf16).math == DType::fp4);
  CHECK(weight_format("mxfp4", DType::bf16).math == DType::bf16);
}

TEST_CASE("MXFP4 stores only the experts of a mixture so") {
  const ModelSpec model = with_precision(load_model("mixtral-8x7b"), "mxfp4");
  CHECK(model.format(model.layers.front(), LinearKind::experts).name == "mxfp4");
  CHECK(model.format(model.layers.front(), LinearKind::qkv).name == "bf16");
}

TEST_CASE("a quantised checkpoint keeps its method") {
  const ModelSpec oss = load_model("gpt-oss-20b");
  CHECK(with_precision(oss, "auto").quantization == "mxfp4");
  CHECK(with_precision(oss, "mxfp4").quantization == "mxfp4");
  CHECK_THROWS_AS(with_precision(oss, "awq"), ConfigError);
  CHECK_THROWS_AS(with_precision(oss, "none"), ConfigError);
}

TEST_CASE("KV formats by name") {
  const ModelSpec llama = load_model("llama-3.1-8b");
  CHECK(kv_format("auto", llama).bits == 16.0);
  CHECK(kv_format("fp8_e5m2", llama).type == DType::fp8);
  CHECK(kv_format("int4", llama).bits == 5.0);      // KIVI, groups of 32: 4 + (16 + 16) / 32
  CHECK(kv_format("int2_g64", llama).bits == 2.5);  // 2 + 32 / 64
  CHECK_THROWS_AS(kv_format("fp7", llama), ConfigError);
  CHECK_THROWS_AS(kv_format("fp8_ds_mla", llama), ConfigError);
  CHECK_THROWS_AS(with_precision(llama, "fp9"), ConfigError);
  CHECK_THROWS_AS(with_precision(llama, "auto", "bf17"), ConfigError);
}

}  // namespace ridgeline
