#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "models/kv_bytes.hpp"
#include "models/model_spec.hpp"
#include "models/parameters.hpp"
#include "models/precision.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline {
namespace {

/// Counts in the catalog against what publishers print (sources in the YAML files). `exact` was recounted independently
/// from the dimensions; `published` is in 1e9 with the tolerance its rounding asks for, 0 = not published.
struct Published {
  const char* name;
  std::int64_t exact;
  double published;
  double tolerance_percent;
  double active;
  std::int64_t kv_bytes;  ///< 16-bit, all layers, one token
};

constexpr Published table[] = {
    {"llama-2-7b", 6738415616, 6.74, 0.5, 0, 524288},
    {"llama-2-13b", 13015864320, 13, 0.5, 0, 819200},
    {"llama-2-70b", 68976648192, 70, 2, 0, 327680},
    {"llama-3-8b", 8030261248, 8.03, 0.5, 0, 131072},
    {"llama-3-70b", 70553706496, 70.55, 0.02, 0, 327680},
    {"llama-3.1-8b", 8030261248, 8.03, 0.5, 0, 131072},
    {"llama-3.1-70b", 70553706496, 70.55, 0.5, 0, 327680},
    {"llama-3.1-405b", 405853388800, 405, 0.5, 0, 516096},
    {"llama-3.2-1b", 1235814400, 1.23, 0.5, 0, 32768},
    {"llama-3.2-3b", 3212749824, 3.21, 0.5, 0, 114688},
    {"llama-4-scout", 107769861120, 109, 2, 17, 196608},
    {"llama-4-maverick", 400711848960, 400, 0.5, 17, 196608},
    {"codellama-34b", 33743970304, 34, 1, 0, 196608},
    {"mistral-7b-v0.1", 7241732096, 7.24, 0.5, 0, 131072},
    {"mistral-7b-v0.3", 7248023552, 7.25, 0.5, 0, 131072},
    {"mistral-nemo-12b", 12247782400, 0, 0.5, 0, 163840},
    {"mixtral-8x7b", 46702792704, 46.7, 0.5, 12.9, 131072},
    {"mixtral-8x22b", 140620634112, 141, 0.5, 39, 229376},
    {"qwen2.5-0.5b", 494032768, 0.49, 1, 0, 12288},
    {"qwen2.5-1.5b", 1543714304, 0, 0.5, 0, 28672},
    {"qwen2.5-3b", 3085938688, 3.09, 0.5, 0, 36864},
    {"qwen2.5-7b", 7615616512, 7.62, 0.5, 0, 57344},
    {"qwen2.5-14b", 14770033664, 14.77, 0.02, 0, 196608},
    {"qwen2.5-32b", 32763876352, 32.76, 0.02, 0, 262144},
    {"qwen2.5-72b", 72706203648, 72.71, 0.02, 0, 327680},
    {"qwen3-0.6b", 596049920, 0.6, 1, 0, 114688},
    {"qwen3-1.7b", 1720574976, 1.7, 2, 0, 114688},
    {"qwen3-4b", 4022468096, 4, 1, 0, 147456},
    {"qwen3-8b", 8190735360, 8, 3, 0, 147456},
    {"qwen3-14b", 14768307200, 14.8, 0.5, 0, 163840},
    {"qwen3-32b", 32762123264, 32.8, 0.5, 0, 262144},
    {"qwen3-30b-a3b", 30532122624, 30, 2, 3, 98304},
    {"qwen3-235b-a22b", 235093634560, 235, 0.5, 22, 192512},
    {"gemma-2-9b", 9241705984, 9.24, 0.5, 0, 344064},
    {"gemma-2-27b", 27227128320, 27, 1, 0, 376832},
    {"gemma-3-27b", 27009002240, 27.01, 0.02, 0, 507904},
    {"phi-3-medium-4k", 13960238080, 14, 0.5, 0, 204800},
    {"phi-4", 14659507200, 14.6595, 0.02, 0, 204800},
    {"deepseek-v2", 235741434880, 236, 0.5, 21, 69120},
    {"deepseek-v2-lite", 15706484224, 16, 2, 2.4, 31104},
    {"deepseek-v3", 671026419200, 671, 0.5, 37, 70272},
    {"deepseek-r1", 671026419200, 671, 0.5, 37, 70272},
    {"kimi-k2", 1026408232448, 1000, 3, 32, 70272},
    {"gpt-oss-20b", 20914757184, 21, 0.5, 3.6, 49152},
    {"gpt-oss-120b", 116829156672, 117, 0.5, 5.1, 73728},
    {"falcon-180b", 178557088768, 180, 1, 0, 163840},
    {"opt-13b", 12853473280, 13, 2, 0, 819200},
    {"opt-66b", 65719701504, 66, 0.5, 0, 2359296},
    {"gpt-j-6b", 6050882784, 6, 1, 0, 458752},
    {"internlm-20b", 20088714240, 20, 0.5, 0, 1228800},
    {"yi-34b", 34388917248, 34, 2, 0, 245760},
    {"tinyllama-1.1b", 1100048384, 1.1, 0.5, 0, 22528},
};

}  // namespace

TEST_CASE("catalog models have the published numbers of parameters") {
  for (const Published& row : table) {
    INFO(row.name);
    const ModelSpec model = load_model(row.name);
    CHECK(model.sources.size() >= 1);
    const std::int64_t total = count_parameters(model).total();
    CHECK(total == row.exact);
    if (row.published > 0) {
      CHECK(std::abs(static_cast<double>(total) / 1e9 - row.published) / row.published * 100.0 <=
            row.tolerance_percent);
    }
    if (row.active > 0) {
      // Publishers differ on whether the input embedding counts; one of the two must be within 2.2 %.
      const ParameterCount active = active_parameters(model);
      const double with = static_cast<double>(active.total()) / 1e9;
      const double without = with - static_cast<double>(active.embedding) / 1e9;
      CHECK(std::min(std::abs(with - row.active), std::abs(without - row.active)) / row.active <= 0.022);
    }
    CHECK(kv_bytes_per_token(model, kv_format("bf16", model)).count() == row.kv_bytes);
  }
}

TEST_CASE("the catalog lists every model once and in order") {
  const std::vector<std::string> names = model_names();
  CHECK(names.size() == std::size(table) + 2);  // and two encoders
  CHECK(std::is_sorted(names.begin(), names.end()));
}

TEST_CASE("BERT has the published size and keeps no cache") {
  // Devlin et al.: 110M and 340M; recounted with the pooler and without the masked-word head: 109.5M and 335.1M.
  CHECK(count_parameters(load_model("bert-base")).total() == 109'482'240);
  CHECK(count_parameters(load_model("bert-large")).total() == 335'141'888);
  const ModelSpec bert = load_model("bert-base");
  CHECK(kv_bytes_per_token(bert, kv_format("auto", bert)) == Bytes{0});
}

TEST_CASE("an unknown model is refused with near matches") {
  try {
    load_model("llama-3.1-7b");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("llama-3.1-8b") != std::string::npos);
  }
  CHECK_THROWS_AS(load_model("nowhere/config.json"), ConfigError);
  CHECK_THROWS_AS(load_model(""), ConfigError);
}

TEST_CASE("layers of hybrids slide as published") {
  // Gemma 3: five sliding, one full; 62 layers end with two sliding: 52 + 10.
  const ModelSpec gemma = load_model("gemma-3-27b");
  CHECK(gemma.count(AttentionKind::full) == 10);
  CHECK(gemma.count(AttentionKind::sliding) == 52);
  CHECK(gemma.sliding_window() == 1024);
  CHECK(load_model("gpt-oss-20b").count(AttentionKind::full) == 12);
  CHECK(load_model("llama-4-scout").count(AttentionKind::chunked) == 36);
}

}  // namespace ridgeline
