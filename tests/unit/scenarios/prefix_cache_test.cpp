// Prefix caches end to end: hit rates against what the workload itself says must be found.
#include <fstream>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "scenarios/build/run.hpp"
#include "scenarios/report/run_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

/// Everything prompts have in common, found by walking their hash ids: a tree of ids, where each node knows how many of its
/// block's tokens some earlier prompt has had.
class HashIdOracle {
 public:
  explicit HashIdOracle(std::int64_t trace_block) : trace_block_(trace_block) {}

  /// Tokens of the prompt that earlier prompts began with.
  std::int64_t shared(const std::vector<std::int64_t>& ids, std::int64_t length) const {
    const Node* node = &root_;
    std::int64_t tokens = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto child = node->children.find(ids[i]);
      if (child == node->children.end()) break;
      node = child->second.get();
      const std::int64_t own = std::min(trace_block_, length - static_cast<std::int64_t>(i) * trace_block_);
      tokens += std::min(own, node->tokens);
      if (node->tokens < trace_block_) break;
    }
    return tokens;
  }
  void add(const std::vector<std::int64_t>& ids, std::int64_t length) {
    Node* node = &root_;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto& child = node->children[ids[i]];
      if (!child) child = std::make_unique<Node>();
      node = child.get();
      node->tokens = std::max(node->tokens, std::min(trace_block_, length - static_cast<std::int64_t>(i) * trace_block_));
    }
  }

 private:
  struct Node {
    std::int64_t tokens = 0;
    std::map<std::int64_t, std::unique_ptr<Node>> children;
  };
  std::int64_t trace_block_;
  Node root_;
};

/// Share of prompt tokens that a cache of `block` tokens a block finds if it never forgets: whole blocks of what is shared, and
/// at least one token of a prompt is computed.
double expected_hit_rate(const std::string& file, std::int64_t block) {
  HashIdOracle oracle(512);
  std::ifstream stream(file);
  std::int64_t hits = 0, all = 0;
  for (std::string line; std::getline(stream, line);) {
    const auto row = nlohmann::json::parse(line);
    const auto length = row["input_length"].get<std::int64_t>();
    const auto ids = row["hash_ids"].get<std::vector<std::int64_t>>();
    hits += std::min(oracle.shared(ids, length), length - 1) / block * block;
    all += length;
    oracle.add(ids, length / block * block);  // only full blocks are kept
  }
  return static_cast<double>(hits) / static_cast<double>(all);
}

/// The trace one request after the other: nothing is in flight that a later prompt could miss.
std::string replayed(const std::string& file, const std::string& engine) {
  return "engine: {max_model_len: 300000, max_num_seqs: 8, " + engine + "}\n"
         "fleet: [{replicas: 1}]\n"
         "cost: {model: constant, step_time: 1 us}\n"
         "workload: {trace: " + file + ", output_tokens: 1, max_concurrency: 1}\n";
}

double hit_rate(const std::string& yaml) { return run(scenario_from(yaml)).metrics.fleet.prefix_cache_hit_rate(); }

}  // namespace

TEST_CASE("Mooncake: with memory without end the hit rate is the one of the hash ids") {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const char* name : {"conversation_trace.head7851.jsonl", "synthetic_trace.head2597.jsonl"}) {
    const std::string file = (shared / "data" / "traces" / "mooncake_fast25" / name).string();
    INFO(name);
    const double by_512 = expected_hit_rate(file, 512);
    CHECK(by_512 > 0.3);
    CHECK(hit_rate(replayed(file, "max_num_batched_tokens: 262144, block_size: 512, num_gpu_blocks_override: 300000")) == Approx(by_512).epsilon(1e-12));
    CHECK(hit_rate(replayed(file, "max_num_batched_tokens: 262144, block_size: 16, num_gpu_blocks_override: 9000000")) ==
          Approx(expected_hit_rate(file, 16)).epsilon(1e-12));
    CHECK(hit_rate(replayed(file, "profile: sglang, chunked_prefill_size: -1, max_prefill_tokens: 262144, block_size: 1, "
                                  "num_gpu_blocks_override: 200000000")) == Approx(expected_hit_rate(file, 1)).epsilon(1e-12));
    CHECK(hit_rate(replayed(file, "profile: tensorrt-llm, max_num_batched_tokens: 262144, block_size: 32, num_gpu_blocks_override: 5000000")) ==
          Approx(expected_hit_rate(file, 32)).epsilon(1e-12));
  }
}

TEST_CASE("Mooncake: the hit rate falls with memory") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const std::string file = (shared / "data" / "traces" / "mooncake_fast25" / "conversation_trace.head7851.jsonl").string();
  double last = expected_hit_rate(file, 512);
  for (const int blocks : {100'000, 30'000, 10'000, 3'000, 1'000, 400}) {
    INFO(blocks);
    const double rate = hit_rate(replayed(file, "max_num_batched_tokens: 262144, block_size: 512, num_gpu_blocks_override: " + std::to_string(blocks)));
    CHECK(rate <= last);  // 100,000 blocks still hold everything
    last = rate;
  }
  CHECK(last < 0.1);
  last = expected_hit_rate(file, 1);
  for (const int tokens : {50'000'000, 5'000'000, 1'000'000, 300'000}) {
    INFO(tokens);
    const double rate = hit_rate(replayed(file, "profile: sglang, chunked_prefill_size: -1, max_prefill_tokens: 262144, block_size: 1, "
                                                "num_gpu_blocks_override: " + std::to_string(tokens)));
    CHECK(rate <= last);
    last = rate;
  }
  CHECK(last < 0.1);
}

TEST_CASE("A shared prefix is found in whole blocks only, and the report says when it has none (PC-36)") {
  // 1000 prompts = 240 shared + 300 unique tokens. Per later request 240 tokens are found in blocks of 16 or tokens, none in
  // blocks of 784: 999 x 240 of 1000 x 540 = 44.4 %.
  const auto scenario = [](const std::string& engine) {
    return scenario_from("engine: {max_model_len: 4096, max_num_seqs: 8, " + engine + "}\n"
                         "fleet: [{replicas: 1}]\ncost: {model: constant, step_time: 1 ms}\n"
                         "workload: {num_prompts: 1000, max_concurrency: 1, input_tokens: 300, output_tokens: 2, "
                         "shared_prefix: {tokens: 240}}\n");
  };
  const double found = 999.0 * 240 / (1000.0 * 540);
  const auto rate = [](const Scenario& s) { return run(s).metrics.fleet.prefix_cache_hit_rate(); };
  const Scenario fine = scenario("block_size: 16, num_gpu_blocks_override: 1000");
  const Scenario coarse = scenario("block_size: 784, num_gpu_blocks_override: 100");
  const Scenario radix = scenario("profile: sglang, block_size: 1, num_gpu_blocks_override: 16000");
  CHECK(rate(fine) == Approx(found));
  CHECK(rate(coarse) == 0.0);
  CHECK(rate(radix) == Approx(found));
  CHECK(fine.warnings.empty());
  CHECK(radix.warnings.empty());
  REQUIRE(coarse.warnings.size() == 1);
  CHECK(coarse.warnings.front().message.find("240 tokens is shorter than a KV block") != std::string::npos);
}

TEST_CASE("Turns of a conversation hit the answers before them") {
  // Three turns of 104 new tokens, answers of 56: prompts of 104, 264, 424. A turn finds the prompt and the answer before it but
  // the answer's last token, which no step ever computed: 159 and 319 tokens, in blocks of 16 these are 144 and 304.
  const auto rate = [](const std::string& engine) {
    return hit_rate("engine: {max_model_len: 4096, max_num_seqs: 8, " + engine + "}\n"
                    "fleet: [{replicas: 1}]\ncost: {model: constant, step_time: 1 ms}\n"
                    "workload: {arrival: all_at_once, input_tokens: 104, output_tokens: 56, sessions: {num_sessions: 1, turns: 3, "
                    "think_time: 1 s}}\n");
  };
  CHECK(rate("block_size: 16, num_gpu_blocks_override: 1000") == Approx((144.0 + 304) / 792));
  CHECK(rate("profile: sglang, block_size: 1, num_gpu_blocks_override: 16000") == Approx((159.0 + 319) / 792));
  CHECK(rate("profile: tensorrt-llm, block_size: 16, num_gpu_blocks_override: 1000") == Approx((144.0 + 304) / 792));
}

TEST_CASE("Weka: within a session nearly everything is found") {
  REQUIRE_SHARED_OR_SKIP(shared);
  // The folder's README: 91.8 % of all tokens, in blocks of 64, within a session and with sub-agents after their parents. One session
  // at a time, memory without end.
  const std::string folder = (shared / "data" / "traces" / "weka_agentic").string();
  const double rate = hit_rate("engine: {max_model_len: 400000, max_num_seqs: 64, max_num_batched_tokens: 524288, block_size: 64, "
                               "num_gpu_blocks_override: 3000000}\nfleet: [{replicas: 1}]\ncost: {model: constant, step_time: 1 ms}\n"
                               "workload: {trace: " + folder + ", max_concurrent_sessions: 1}\n");
  CHECK(rate == Approx(0.918).margin(0.004));
}
