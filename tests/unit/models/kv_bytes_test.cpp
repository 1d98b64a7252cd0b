#include "models/kv_bytes.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

Bytes per_token(const char* name, const char* dtype, int ranks) {
  const ModelSpec model = load_model(name);
  return kv_bytes_per_token(model, kv_format(dtype, model), {.tensor_parallel_size = ranks});
}

Bytes gib(double value) { return Bytes{static_cast<std::int64_t>(value * 1073741824.0)}; }

}  // namespace

TEST_CASE("claim 1: KV cache is 2 L n d s b p bytes") {
  // Llama-2-7B fp16: 2 x 32 x 32 x 128 x 2 = 512 KiB a token.
  const Bytes token = per_token("llama-2-7b", "auto", 1);
  CHECK(token == 512_KiB);
  CHECK(token * 2048 == 1_GiB);
  CHECK(token * 4096 == 2_GiB);
  CHECK(token * 32768 == 16_GiB);
  CHECK(token * 2048 * 8 == 8_GiB);
  CHECK(token * 4096 * 8 == 16_GiB);
  CHECK(token * 32768 * 8 == 128_GiB);
}

TEST_CASE("claim 2: grouped-query attention shrinks the cache by the group size") {
  // Llama-2-70B: 8 KV heads of 64: 1.25 GiB at 4096 tokens instead of 10.
  CHECK(per_token("llama-2-70b", "auto", 1) * 4096 == gib(1.25));
  ModelSpec mha = load_model("llama-2-70b");
  for (LayerSpec& layer : mha.layers) layer.kv_heads = mha.heads;
  CHECK(kv_bytes_per_token(mha, kv_format("auto", mha)) * 4096 == 10_GiB);
}

TEST_CASE("KV bytes per GPU under tensor parallelism") {
  CHECK(per_token("llama-3-70b", "bf16", 1) == Bytes{327680});
  CHECK(per_token("llama-3-70b", "bf16", 8) == Bytes{40960});
  CHECK(per_token("llama-3-70b", "bf16", 16) == Bytes{40960});  // replicated
  CHECK(per_token("llama-3-70b", "fp8", 8) == Bytes{20480});
  CHECK(per_token("deepseek-v3", "bf16", 1) == Bytes{70272});  // 61 x 576 x 2, on every rank
  CHECK(per_token("deepseek-v3", "bf16", 8) == Bytes{70272});
  CHECK(per_token("deepseek-v3", "fp8_ds_mla", 8) == Bytes{40016});  // 61 x 656
  // 36 GiB at TP8 hold 58982 blocks of 16 tokens: 36 x 2^30 / (16 x 40960).
  const ModelSpec llama = load_model("llama-3-70b");
  CHECK(kv_layout(llama, kv_format("bf16", llama), 16, {.tensor_parallel_size = 8}).blocks_in(36_GiB) == 58982);
}

TEST_CASE("gpt-oss-120b: two groups share one pool of blocks") {
  const ModelSpec model = load_model("gpt-oss-120b");
  const KvFormat kv = kv_format("auto", model);
  // 18 full and 18 sliding layers. TP8: 16 tokens x 1 head x 64 x 2 x 2 B = 4096 B a page, 18 pages a block.
  const KvLayout eight = kv_layout(model, kv, 16, {.tensor_parallel_size = 8});
  CHECK(eight.groups.size() == 2);
  CHECK(eight.block_bytes() == Bytes{73728});
  // 2068 tokens: 130 full blocks, ceil(min(127 + 8192, 2068) / 16) + 1 = 131 window blocks.
  CHECK(eight.blocks_of_request(Tokens{2068}, 8192) == 261);
  const std::int64_t blocks = eight.blocks_in(gib(114.85));
  CHECK(static_cast<double>(blocks) / 261.0 == Approx(6408.5).epsilon(1e-4));
  // vllm-project/vllm#27508: TP1, 1.71 GiB, 131072 tokens: 3112 blocks of 589,824 B; needs 8192 + 73 = 8265; 48.6 k
  // tokens fit.
  const KvLayout one = kv_layout(model, kv, 16);
  CHECK(one.block_bytes() == Bytes{589824});
  CHECK(one.blocks_in(gib(1.71)) == 3112);
  CHECK(one.blocks_of_request(Tokens{131072}, 1024) == 8265);
  CHECK(one.longest_request(3112, 1024) == Tokens{48624});
  CHECK(one.longest_request(3112, 8192).count() == Approx(41400).epsilon(0.002));
}

TEST_CASE("window admission cap of one full and one sliding group") {
  // S13 of the engine notes: window 32, block 16, budget 64: ceil((31 + 64) / 16) + 1 = 7 window blocks at most.
  const KvLayout layout{
      .groups = {{.window = 0, .layers = 1, .block_size = 16}, {.window = 32, .layers = 1, .block_size = 16}},
      .layers_per_group = 1,
      .page = Bytes{1}};
  CHECK(layout.blocks_of_request(Tokens{1000}, 64) == 63 + 7);
}

TEST_CASE("layers of unlike width share pages by longer blocks") {
  // Geometry of a 31B hybrid: 50 sliding layers (16 KV heads x 256), 10 full (4 x 512).
  ModelSpec model = load_model("llama-3.1-8b");
  model.layers.assign(60, {.attention = AttentionKind::sliding, .window = 1024, .kv_heads = 16, .head_dim = 256});
  for (std::size_t i = 5; i < 60; i += 6) model.layers[i] = {.kv_heads = 4, .head_dim = 512};
  const KvFormat kv = kv_format("bf16", model);
  CHECK(kv_bytes_per_token(model, kv) == Bytes{901'120});
  CHECK(growing_kv_bytes_per_token(model, kv) == Bytes{81'920});
  CHECK(50'000'000'000 / 901'120 == 55'486);  // as if every layer kept everything
  const KvLayout layout = kv_layout(model, kv, 16);
  CHECK(layout.groups.size() == 6);  // 10 layers a group: one full, five sliding
  CHECK(layout.groups.front().block_size == 32);
  // 131072 tokens: 4096 full blocks and 5 x (ceil((1023 + 2048) / 16) + 1 = 193).
  CHECK(layout.blocks_of_request(Tokens{131072}, 2048) == 4096 + 5 * 193);
  const double concurrency = static_cast<double>(layout.blocks_in(Bytes{50'000'000'000})) / (4096 + 5 * 193);
  CHECK(concurrency * 131072 > 450'000);
  CHECK(concurrency * 131072 < 610'000);
  // 262144 tokens, the model's context: 8192 + 965 blocks of 19,073: 546 k tokens (vllm-project/vllm#43308 saw 525 k).
  CHECK(layout.blocks_in(Bytes{50'000'000'000}) == 19'073);
  CHECK(19'073.0 / static_cast<double>(layout.blocks_of_request(Tokens{262144}, 2048)) * 262144 == Approx(546'000).epsilon(0.001));
}

TEST_CASE("a hybrid's recurrent state does not grow") {
  // 64 layers, every fourth full (4 KV heads x 256); gated delta nets of 16 key and 48 value heads x 128, kernel 4.
  ModelSpec model = load_model("llama-3.1-8b");
  model.recurrent =
      RecurrentSpec{.key_heads = 16, .value_heads = 48, .key_dim = 128, .value_dim = 128, .convolution = 4};
  model.layers.assign(64, {.attention = AttentionKind::recurrent});
  for (std::size_t i = 3; i < 64; i += 4) model.layers[i] = {.kv_heads = 4, .head_dim = 256};
  CHECK(kv_bytes_per_token(model, kv_format("fp16", model)) * 262144 == 16384_MiB);
  CHECK(kv_bytes_per_token(model, kv_format("fp8", model)) == 32_KiB);
  CHECK(kv_bytes_per_token(model, kv_format("fp8", model), {.tensor_parallel_size = 2}) == 16_KiB);
  CHECK(growing_kv_bytes_per_token(model, kv_format("fp8", model)) * 302'921 == Bytes{9'926'115'328});  // 9.24 GiB
  // Logged for four sequences: 598.5 MiB. 48 x 4 B x (48 x 128 x 128 + (2 x 2048 + 6144) x 3).
  CHECK(recurrent_state_bytes(model) * 4 == Bytes{627'572'736});
  CHECK(627'572'736.0 / 1048576.0 == Approx(598.5).epsilon(1e-4));
  CHECK_THROWS_AS(kv_layout(model, kv_format("fp16", model), 16), ConfigError);
}

TEST_CASE("a sequence's cache stops growing in windowed layers") {
  const ModelSpec model = load_model("mistral-7b-v0.1");  // every layer slides over 4096
  const KvFormat kv = kv_format("auto", model);
  CHECK(kv_bytes_of_sequence(model, kv, Tokens{4096}) == Bytes{131072} * 4096);
  CHECK(kv_bytes_of_sequence(model, kv, Tokens{32768}) == Bytes{131072} * 4096);
}

}  // namespace ridgeline
