#include "models/shard.hpp"

#include <string>

#include "models/parameters.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

std::string refusal(const ModelSpec& model, int ranks) {
  try {
    require_tensor_parallel(model, ranks);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

std::vector<std::int64_t> split(const ModelSpec& model, int stages) {
  std::vector<std::int64_t> layers;
  for (const Shard& shard : pipeline_shards(model, 1, stages)) layers.push_back(shard.last_layer - shard.first_layer);
  return layers;
}

}  // namespace

TEST_CASE("tensor parallelism must divide the heads; the degrees that work are named") {
  const ModelSpec llama = load_model("llama-3-70b");  // 64 query heads, 8 KV heads
  CHECK(valid_tensor_parallel_sizes(llama) == std::vector<int>{1, 2, 4, 8, 16, 32, 64});
  for (const int ranks : {3, 24}) CHECK(refusal(llama, ranks).find("1, 2, 4, 8, 16, 32, 64") != std::string::npos);
  CHECK(refusal(llama, 0) != "");
  for (const int ranks : {1, 8, 16, 64}) CHECK(refusal(llama, ranks).empty());
  // 28 query heads over 4 KV heads: 7 and 14 ranks could not share the KV heads evenly, nor 28 the MLP of 18944.
  CHECK(valid_tensor_parallel_sizes(load_model("qwen2.5-7b")) == std::vector<int>{1, 2, 4});
}

TEST_CASE("KV heads are replicated beyond their number") {
  CHECK(kv_heads_per_gpu(8, 1) == 8);
  CHECK(kv_heads_per_gpu(8, 8) == 1);
  CHECK(kv_heads_per_gpu(8, 16) == 1);
  CHECK(kv_heads_per_gpu(1, 4) == 1);
}

TEST_CASE("pipeline stages take the remainder from the back, never the last") {
  const ModelSpec llama = load_model("llama-3.1-405b");  // 126 layers
  CHECK(split(llama, 2) == std::vector<std::int64_t>{63, 63});
  CHECK(split(llama, 4) == std::vector<std::int64_t>{31, 32, 32, 31});
  CHECK_THROWS_AS(pipeline_shards(llama, 1, 127), ConfigError);
  CHECK_THROWS_AS(pipeline_shards(llama, 1, std::vector<std::int64_t>{100, 20}), ConfigError);
}

TEST_CASE("stages and ranks together hold the whole model") {
  const ModelSpec model = load_model("llama-3.1-8b");
  const Bytes whole = weight_bytes(model).total();
  CHECK(whole == Bytes{2 * 8'030'261'248});
  Bytes stages;
  for (const Shard& shard : pipeline_shards(model, 1, 4)) stages += weight_bytes(model, shard).total();
  CHECK(stages == whole);
  // Two ranks: everything but the norms (65 x 4096 values of 2 bytes) is cut in half.
  CHECK(2 * weight_bytes(model, {.tensor_parallel_size = 2}).total() == whole + Bytes{65 * 4096 * 2});
}

}  // namespace ridgeline
