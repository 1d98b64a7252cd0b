// scenarios/multi-turn-prefix-cache.yaml says what it claims to say.
#include <map>
#include <string>

#include "scenarios/build/run.hpp"
#include "scenarios/load/expand.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;

TEST_CASE("Conversations: caching helps, and more where the router brings turns back to their history") {
  std::map<std::string, RunMetrics> runs;
  const Config document = load_document(test::source_folder() / "scenarios" / "multi-turn-prefix-cache.yaml", {});
  for (const ScenarioPoint& point : expand(document)) runs[point.label] = run(resolve_scenario(point.document)).metrics;
  REQUIRE(runs.size() == 7);

  const auto hits = [&](const std::string& name) { return runs.at(name).fleet.prefix_cache_hit_rate(); };
  const auto ttft = [&](const std::string& name) { return runs.at(name).ttft.mean; };
  // Everyone is asked the same: what is asked depends on the seed alone.
  for (const auto& [name, metrics] : runs) {
    INFO(name);
    CHECK(metrics.completed == runs.at("no-cache").completed);
    CHECK(metrics.total_input_tokens == runs.at("no-cache").total_input_tokens);
  }
  CHECK(hits("no-cache") == 0.0);
  for (const char* name : {"round-robin", "least-outstanding", "session-affinity", "sglang-cache-aware", "llm-d", "dynamo-kv"}) {
    INFO(name);
    CHECK(ttft(name) < ttft("no-cache"));
  }
  for (const char* aware : {"session-affinity", "sglang-cache-aware", "llm-d", "dynamo-kv"}) {
    INFO(aware);
    CHECK(hits(aware) > hits("round-robin") + 0.1);
    CHECK(ttft(aware) < ttft("round-robin"));
  }
  // A session that stays finds its history as long as memory keeps it. With six turns of 1,200 tokens in, 250 out and a prefix of 1,000,
  // 79 % of all prompt tokens have been seen before; four caches of some 460,000 tokens lose a part of that.
  CHECK(hits("session-affinity") > 0.6);
  CHECK(hits("session-affinity") < 0.79);
}
