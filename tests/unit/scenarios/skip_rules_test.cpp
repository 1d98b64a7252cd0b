// Conditions on keys, and the rules made of them.
#include "scenarios/sweep/skip_rules.hpp"

#include <map>

#include "scenarios/sweep/expression.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

std::optional<Value> lookup(const std::string& key) {
  static const std::map<std::string, Value> values{{"a", 2.0}, {"b", 3.0}, {"gpu", std::string("h100-sxm-80gb")}, {"on", true}, {"f[0].x", 5.0}};
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::optional<bool> holds(const std::string& text) { return Expression::parse(text).holds(lookup); }

std::string mistake(const std::string& text) {
  try {
    (void)holds(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// What becomes of every point: "" = run, else the reason. Mistakes are thrown.
std::vector<std::string> judged(const std::string& yaml) {
  const Config document = Config::parse(yaml, "test.yaml");
  SkipJudge judge(read_skip_rules(document));
  std::vector<std::string> reasons;
  for (const ScenarioPoint& point : expand(document)) {
    std::optional<Scenario> scenario;
    try {
      scenario = resolve_scenario(point.document);
    } catch (const ConfigError&) {
    }
    reasons.push_back(judge.reason(point, scenario ? &*scenario : nullptr).value_or(""));
  }
  judge.check_keys();
  return reasons;
}

std::string judging_mistake(const std::string& yaml) {
  try {
    (void)judged(yaml);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Conditions") {
  CHECK(holds("a < b") == true);
  CHECK(holds("a*b + 1 == 7 and b % 2 == 1") == true);
  CHECK(holds("a + b * 2 == 8") == true);  // not (2 + 3) * 2
  CHECK(holds("not a > b or false") == true);
  CHECK(holds("not (a < b or false)") == false);
  CHECK(holds("on") == true);
  CHECK(holds("gpu == 'h100-sxm-80gb' and gpu != \"a100\"") == true);
  CHECK(holds("f[0].x >= 5 and -a < 0") == true);
  CHECK(holds("10 / 4 == 2.5") == true);
  CHECK(holds("a - 1 - 1 == 0") == true);  // from the left
}

TEST_CASE("A condition that hangs on a missing key is neither true nor false") {
  CHECK(holds("missing > 1") == std::nullopt);
  CHECK(holds("not missing") == std::nullopt);
  CHECK(holds("missing > 1 or a == 2") == true);
  CHECK(holds("missing > 1 and a == 3") == false);
  CHECK(holds("missing > 1 and a == 2") == std::nullopt);
}

TEST_CASE("Malformed conditions name the column") {
  CHECK(has(mistake("a >"), "at column 4: expected a key, a number or text in quotes"));
  CHECK(has(mistake("a = 3"), "at column 3: `=` sets nothing here; compare with `==`"));
  CHECK(has(mistake("1 < a < 3"), "two comparisons in a row"));
  CHECK(has(mistake("(a > 1"), "expected `)`"));
  CHECK(has(mistake("a > 1)"), "unexpected `)`"));
  CHECK(has(mistake("gpu == 'h100"), "a quote without its end"));
  CHECK(has(mistake("gpu == 80gb"), "text stands in quotes"));
  CHECK(has(mistake("gpu > 3"), "`>` needs numbers, got 'h100-sxm-80gb'"));
  CHECK(has(mistake("gpu == 3"), "`==` compares 'h100-sxm-80gb' with 3"));
  CHECK(has(mistake("a"), "needs true or false, got 2"));
  CHECK(has(mistake("a / 0 > 1"), "by zero"));
  CHECK(has(mistake(std::string(5000, '(')), "nested too deeply"));
}

TEST_CASE("TP beyond the heads is skipped, whether or not the point could be built") {
  // Llama-3.1-8B: 32 query heads, 8 KV heads. TP 64 can't be built at all; TP 16 can (KV heads are copied).
  const std::string base = "model: llama-3.1-8b\nfleet: [{gpu: h100-sxm-80gb}]\nworkload: {request_rate: 1, num_prompts: 1, input_tokens: 8, output_tokens: 8}\n";
  CHECK(judged(base + "sweep: {engine.tensor_parallel_size: [1, 8, 16, 64], skip: [engine.tensor_parallel_size > model.num_key_value_heads]}\n") ==
        std::vector<std::string>{"", "", "engine.tensor_parallel_size > model.num_key_value_heads", "engine.tensor_parallel_size > model.num_key_value_heads"});
  CHECK(judged(base + "sweep: {'fleet[0].replicas': [1, 4], engine.tensor_parallel_size: [1, 2], skip: [{when: gpus > 4, because: too many}]}\n") ==
        std::vector<std::string>{"", "", "", "too many"});
  // Defaults count: nobody wrote block_size, which is 16.
  CHECK(judged(base + "sweep: {seed: [1], skip: [engine.block_size == 16]}\n") == std::vector<std::string>{"engine.block_size == 16"});
  CHECK(judged(base + "sweep: {'fleet[0].gpu': [h100-sxm-80gb, a100-sxm-40gb], skip: [gpu.memory_gib < 50]}\n") ==
        std::vector<std::string>{"", "gpu.memory_gib < 50"});
}

TEST_CASE("Mistakes in skip rules") {
  const std::string base = constant_cost();
  CHECK(has(judging_mistake(base + "sweep:\n  seed: [1]\n  skip:\n    - engine.max_num_sequs > 4\n"),
            "test.yaml:8:7: sweep.skip[0]: no point has a key `engine.max_num_sequs`; did you mean `engine.max_num_seqs`"));
  CHECK(has(judging_mistake(base + "sweep:\n  seed: [1]\n  skip: engine.max_num_seqs > 4\n"), "expected a list of conditions"));
  CHECK(has(judging_mistake(base + "sweep:\n  seed: [1]\n  skip: [{if: a, because: b}]\n"), "when"));
  CHECK(has(judging_mistake(base + "sweep:\n  seed: [1]\n  skip: ['router.policy > 4']\n"), "test.yaml:7:10: sweep.skip[0]: `>` needs numbers"));
  CHECK(has(judging_mistake(base + "sweep:\n  seed: [1]\n  skip: ['1 +', '2 +']\n"), "sweep.skip[1]"));  // all at once
}
